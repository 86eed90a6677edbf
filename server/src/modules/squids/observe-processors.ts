import type { App } from '../../app.ts'
import { eachAtOnce } from './at-once.ts'
import { putProcessors, type ContainerRow, type ProcessorRow } from './observe-store.ts'
import { scrape, type ProcessorMetrics } from './scrape.ts'
import { isProcessor, metricsPort } from './workload.ts'
import { workloadIdOf } from './workload-id.ts'

/** A row that says nothing new is written again after this long, so that one can see it is looked after. */
const renewMs = 30_000

const askedAtOnce = 64

/** Asks every running processor where it is, and writes what is new. `known` holds what was written of each. */
export async function observeProcessors(
  app: App,
  containers: ReadonlyMap<string, ContainerRow>,
  known: Map<string, ProcessorRow>,
): Promise<void> {
  const running = [...containers].filter(([, row]) => row.state === 'running' && isProcessor({ name: row.container }))
  const now = app.clock.now()
  const news = new Map<string, ProcessorRow>()
  await eachAtOnce(running, askedAtOnce, async ([key, row]) => {
    const next = nextRow(row, known.get(key), await scrapeOf(app, row), now)
    // It may have been removed meanwhile, and its row with it.
    if (next && containers.has(key)) news.set(key, next)
  })
  await putProcessors(app.db, [...news.values()])
  for (const [key, row] of news) known.set(key, row)
}

async function scrapeOf({ driver }: App, { squidId, generation, container }: ContainerRow) {
  const endpoint = driver.endpoint(workloadIdOf(squidId, generation), container, metricsPort)
  return endpoint && (await scrape(endpoint))
}

/** What to write after a scrape, null when it says nothing new. */
export function nextRow(
  { squidId, generation, container }: Pick<ContainerRow, 'squidId' | 'generation' | 'container'>,
  last: ProcessorRow | undefined,
  metrics: ProcessorMetrics | null,
  now: Date,
): ProcessorRow | null {
  if (!metrics) return last && !last.unansweredSince ? { ...last, unansweredSince: now } : null
  const hasProgressed = metrics.currentBlock !== last?.currentBlock
  const hasHeadMoved = metrics.totalBlocks !== last?.totalBlocks
  const isFresh = last && now.getTime() - last.scrapedAt.getTime() < renewMs
  if (!hasProgressed && !hasHeadMoved && !last?.unansweredSince && isFresh) return null
  return {
    squidId,
    generation,
    processor: container,
    ...metrics,
    progressedAt: hasProgressed ? now : (last?.progressedAt ?? now),
    headMovedAt: hasHeadMoved ? now : (last?.headMovedAt ?? now),
    scrapedAt: now,
    unansweredSince: null,
  }
}
