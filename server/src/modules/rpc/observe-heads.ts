import type { App } from '../../app.ts'
import { nextHead, type ChainHead } from './chain-head.ts'
import { rpcWatchChannel } from './handlers.ts'
import { putHeads, selectHeads, selectShownHeads } from './head-store.ts'
import { notify } from './store.ts'

/** Gateways write once a second what they see; what is older nobody looks at now. */
const freshMs = 15_000

/**
 * Notes where these chains are, and asks gateways to go on looking at them: they stop a minute after the last one who asked. Answers
 * what is known; of a chain without nodes nothing.
 */
export async function observeHeads(app: App, chains: string[]): Promise<Map<string, ChainHead>> {
  if (chains.length === 0) return new Map()
  const now = app.clock.now()
  for (const chain of chains) await notify(app.db, rpcWatchChannel, chain)
  const [known, shown] = await Promise.all([
    selectHeads(app.db, chains),
    selectShownHeads(app.db, chains, new Date(now.getTime() - freshMs)),
  ])
  const heads = new Map(known.map((head) => [head.chain, head]))
  const news = shown.map((head) => nextHead(heads.get(head.chain), head, now))
  await putHeads(app.db, news)
  for (const head of news) heads.set(head.chain, head)
  return heads
}
