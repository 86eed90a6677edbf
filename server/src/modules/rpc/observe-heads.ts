import type { App } from '../../app.ts'
import { nextHead, type ChainHead } from './chain-head.ts'
import { rpcWatchChannel } from './handlers.ts'
import { putHeads, selectHeads, selectShownHeads } from './head-store.ts'
import { notify } from './store.ts'

/** Gateways save the observed heads once a second; older rows mean that no gateway polls the chain. */
const freshMs = 15_000

/**
 * Registers interest in these chains, so that gateways keep polling them: they stop a minute after the last request. Returns the
 * current heads by chain; none for a chain without nodes.
 */
export async function observeHeads(app: App, chains: string[]): Promise<Map<string, ChainHead>> {
  if (chains.length === 0) return new Map()
  const now = app.clock.now()
  for (const chain of chains) await notify(app.db, rpcWatchChannel, chain)
  const [headRows, shownHeads] = await Promise.all([
    selectHeads(app.db, chains),
    selectShownHeads(app.db, chains, new Date(now.getTime() - freshMs)),
  ])
  const heads = new Map(headRows.map((head) => [head.chain, head]))
  const news = shownHeads.map((head) => nextHead(heads.get(head.chain), head, now))
  await putHeads(app.db, news)
  for (const head of news) heads.set(head.chain, head)
  return heads
}
