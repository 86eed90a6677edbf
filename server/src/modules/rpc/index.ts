import type { App } from '../../app.ts'

/** The token of the organization's RPC endpoints; makes one when there is none. */
export async function rpcTokenOf(app: App, orgId: number): Promise<string> {
  throw new Error(`No token for ${orgId} in ${app.config.dataDir} yet`)
}

/** `RPC_<NETWORK>_HTTP` for each network of a manifest's rpc addon (contract 4.2), as in `eth.http`. */
export async function rpcVariables(app: App, orgId: number, networks: string[]): Promise<Record<string, string>> {
  const token = await rpcTokenOf(app, orgId)
  return Object.fromEntries(networks.map((n) => [n, token]))
}
