import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { notify } from '../../db/notifications.ts'
import { nextHead, type ChainHead } from './chain-head.ts'
import { saveHeads, selectHeads, selectObservedHeads } from './store.ts'

/** The channel of the notifications that a user or a squid uses a chain. The payload is the id of the chain. */
export const rpcWatchChannel = 'shoal_rpc_watch'

/** Makes the gateways poll the chain's nodes. They stop a minute after the last call. */
export const watchChain = (db: Db, chain: string): Promise<void> => notify(db, rpcWatchChannel, chain)

/** Gateways save the observed heads once a second, so an older row means that no gateway polls the chain. */
const maxHeadAgeMs = 15_000

/**
 * Makes the gateways poll these chains, because squids use them. Returns the last known heads by chain, without chains whose head
 * was never observed.
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
