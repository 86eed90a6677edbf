/** The address of a chain at our gateway, with a token of ours (`rpcUrlOf`). */
const gatewayUrl = /\/rpc\/([a-z0-9-]{1,64})\/shoal_rpc_/
/** What the manifest's rpc addon puts into every container, whether its program asks for it or not (contract 4.2). */
const addonVariable = /^RPC_[A-Z0-9_]+_HTTP$/

/**
 * The chain a program indexes, when its environment tells: the one it is led to at our gateway, by variables of its own or, without
 * such, by the rpc addon. Null when that is none or several.
 */
export function chainOf(environment: Record<string, string>): string | null {
  const own = new Set<string>()
  const ofAddon = new Set<string>()
  for (const [name, value] of Object.entries(environment)) {
    const chain = gatewayUrl.exec(value)?.[1]
    if (chain) (addonVariable.test(name) ? ofAddon : own).add(chain)
  }
  const chains = [...(own.size > 0 ? own : ofAddon)]
  return chains.length === 1 ? (chains[0] ?? null) : null
}
