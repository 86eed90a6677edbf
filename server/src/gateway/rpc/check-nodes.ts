import type { Config } from '../../config/config.ts'
import { chainsOf, isPublicNode, type Chain } from '../../modules/chains/index.ts'
import { protocols } from './protocol.ts'
import { Upstream } from './upstream.ts'

/** `problem`: why a node cannot be used, without its credentials; null if it can. `origin`: its address without path and credentials. */
export type NodeState = { chain: string; node: string; origin: string; head: number | null; problem: string | null }

/** Without SHOAL_RPC_CONFIG there are hundreds of public nodes; those of one chain show whether this host reaches them. */
export const sampleChain = 'eth'

/** Queries the nodes of SHOAL_RPC_CONFIG and of the devnet; without that setting, the public nodes of one chain. */
export async function checkNodes(config: Config): Promise<NodeState[]> {
  const chains = chainsOf({ config })
    .all()
    .filter(({ id, upstreams }) => (config.SHOAL_RPC_CONFIG ? !upstreams.every(isPublicNode) : id === sampleChain))
  return (await Promise.all(chains.map(checkChain))).flat()
}

const checkChain = (chain: Chain): Promise<NodeState[]> =>
  Promise.all(
    chain.upstreams.map(async (settings): Promise<NodeState> => {
      const upstream = new Upstream(settings)
      const node = { chain: chain.id, node: settings.name, origin: new URL(settings.url).origin }
      try {
        const { identity, claimedHead } = protocols[chain.type]
        const [{ chainId }, head] = await Promise.all([identity(upstream), claimedHead(upstream)])
        const servesOtherChain = chain.chainId !== null && chainId !== null && chain.chainId !== chainId
        return { ...node, head, problem: servesOtherChain ? `it serves another chain (id ${chainId})` : null }
      } catch (error) {
        // Messages of `query` are redacted already.
        return { ...node, head: null, problem: error instanceof Error ? error.message : String(error) }
      } finally {
        await upstream.close()
      }
    }),
  )
