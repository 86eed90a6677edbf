/** The templates of spec 2.8. */
export const templates = ['evm', 'abi', 'multichain', 'gravatar', 'substrate', 'ink', 'frontier-evm'] as const
export type Template = (typeof templates)[number]

/** Pins the joi version that the client needs: with two versions installed it crashes at start. */
export const installCommand = 'npm install --global @subsquid/cli@3.2.3 joi@17.13.3'

/** Signs in to this installation. */
export const authCommand = (origin: string, token: string): string =>
  `sqd auth -k ${token.trim() || 'YOUR_API_TOKEN'} -h ${origin}/api`

export const initCommand = (name: string, template: Template): string => {
  const squid = name.trim() || 'my-squid'
  return `sqd init ${squid} -t ${template} && cd ${squid}`
}

export const deployCommand = (orgCode: string): string => `sqd deploy . -o ${orgCode}`
