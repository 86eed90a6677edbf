import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { notify } from '../../db/notifications.ts'
import { nextHead, type ChainHead } from './chain-head.ts'
import { saveHeads, selectHeads, selectObservedHeads } from './store.ts'

/** Notified when a user or a squid uses a chain; the payload is its id. Gateways then poll the chain's nodes for a while. */
export const rpcWatchChannel = 'shoal_rpc_watch'

/** Makes the gateways poll the chain's nodes. They stop a minute after the last call. */
export const watchChain = (db: Db, chain: string): Promise<void> => notify(db, rpcWatchChannel, chain)

/** Gateways save the observed heads once a second; older rows mean that no gateway polls the chain. */
const maxHeadAgeMs = 15_000

/**
 * Makes the gateways poll these chains, because squids use them.
 * Returns the current heads by chain, without chains that have no nodes.
 */
export async function observeHeads(app: App, chains: string[]): Promise<Map<string, ChainHead>> {
  if (chains.length === 0) return new Map()
  const now = app.clock.now()
  for (const chain of chains) await watchChain(app.db, chain)
  const [headRows, observedHeads] = await Promise.all([
    selectHeads(app.db, chains),
    selectObservedHeads(app.db, chains, new Date(now.getTime() - maxHeadAgeMs)),
  ])
  const heads = new Map(headRows.map((head) => [head.chain, head]))
  const updatedHeads = observedHeads.map((head) => nextHead(heads.get(head.chain), head, now))
  await saveHeads(app.db, updatedHeads)
  for (const head of updatedHeads) heads.set(head.chain, head)
  return heads
}
