/** The URL of a chain at our gateway, with an RPC token (`rpcUrlOf`). */
const gatewayUrl = /\/rpc\/([a-z0-9-]{1,64})\/shoal_rpc_/
/** The variables of the manifest's rpc addon, which every container receives, even if its program does not use them (contract 4.2). */
const addonVariable = /^RPC_[A-Z0-9_]+_HTTP$/

/**
 * The chain that a program indexes, according to the gateway URLs in its environment. Variables of the rpc addon count only if no other
 * variable has such a URL. Null if there is no chain or more than one.
 */
export function chainOf(environment: Record<string, string>): string | null {
  const own = new Set<string>()
  const fromAddon = new Set<string>()
  for (const [name, value] of Object.entries(environment)) {
    const chain = gatewayUrl.exec(value)?.[1]
    if (chain) (addonVariable.test(name) ? fromAddon : own).add(chain)
  }
  const chains = [...(own.size > 0 ? own : fromAddon)]
  return chains.length === 1 ? (chains[0] ?? null) : null
}
