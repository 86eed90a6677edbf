/** The templates of spec 2.8. */
export const templates = ['evm', 'abi', 'multichain', 'gravatar', 'substrate', 'ink', 'frontier-evm'] as const
export type Template = (typeof templates)[number]

/** Installs the public client, with the exact version of joi that it needs: if npm installs a second version of joi, the client crashes at start. */
export const installCommand = 'npm install --global @subsquid/cli@3.2.3 joi@17.13.3'

/** The command that signs in to this installation. Without a token, it has a placeholder. */
export const authCommand = (origin: string, token: string): string =>
  `sqd auth -k ${token.trim() || 'YOUR_API_TOKEN'} -h ${origin}/api`

/** The command that creates the squid from the template, and opens its folder. */
export const initCommand = (name: string, template: Template): string => {
  const squid = name.trim() || 'my-squid'
  return `sqd init ${squid} -t ${template} && cd ${squid}`
}

/** The command that deploys the squid in the current folder. */
export const deployCommand = (orgCode: string): string => `sqd deploy . -o ${orgCode}`
