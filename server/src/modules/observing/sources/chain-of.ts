import { chainOfRpcUrl } from '../../rpc/index.ts'

/** Matches the variables of the manifest's rpc addon, which every container receives, even if its program does not use them. */
const addonVariable = /^RPC_[A-Z0-9_]+_HTTP$/

/**
 * Returns the chain that a program indexes, according to the gateway URLs in its environment. Variables of the rpc addon count only if
 * no other variable has such a URL. Null if there is no chain or more than one.
 */
export function chainOf(environment: Record<string, string>): string | null {
  const fromOtherVariables = new Set<string>()
  const fromAddon = new Set<string>()
  for (const [name, value] of Object.entries(environment)) {
    const chain = chainOfRpcUrl(value)
    if (chain) (addonVariable.test(name) ? fromAddon : fromOtherVariables).add(chain)
  }
  const chains = [...(fromOtherVariables.size > 0 ? fromOtherVariables : fromAddon)]
  return chains.length === 1 ? (chains[0] ?? null) : null
}
