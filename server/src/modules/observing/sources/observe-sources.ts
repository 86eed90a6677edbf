import type { WorkerApp } from '../../../app.ts'
import { mapConcurrently } from '@shoal/runtime'
import { createRedactorLookup, type RedactorLookup } from '../../databases/index.ts'
import type { KnownHeads } from './known-heads.ts'
import type { ContainerRow, ProcessorRow, SourceRow } from '../observe-store.ts'
import type { ObservationCache } from '../observation-cache.ts'
import { silenceOf } from '../progress/silence.ts'
import { isSdkLine, sourceSentence, lastSourceError } from './source-log.ts'
import { workloadIdOf } from '../../manifest/index.ts'
import { isProcessor } from '../../containers.ts'
import { forEachInSlices } from '../../../collections/slices.ts'

const maxConcurrent = 8
const tailLines = 100
/** If a processor still serves no metrics this long after its start, its log is checked for data source errors. */
const maxStartMs = 60_000

type ProcessorSources = Pick<KnownHeads, 'headOf' | 'sourcesOf'>

/**
 * Returns a function that finds the processors whose data source does not respond, and records the name of that source from the processor's
 * log, environment or code.
 */
export function createSourceObserver(
  app: WorkerApp,
  cache: ObservationCache,
  processorSources: ProcessorSources,
  redactors: RedactorLookup = createRedactorLookup(app),
) {
  return async (): Promise<void> => {
    const nowMs = app.clock.now().getTime()
    const silent: { key: string; row: ContainerRow; sinceMs: number }[] = []
    await forEachInSlices([...cache.containers], ([key, row]) => {
      if (row.state !== 'running' || !isProcessor({ name: row.container })) return
      const sinceMs = silentSince(row, cache.processors.get(key), processorSources, nowMs)
      if (sinceMs !== null) silent.push({ key, row, sinceMs })
    })
    const redactorOf = await redactors([...new Set(silent.map(({ row }) => row.squidId))])
    const sources = new Map<string, SourceRow>()
    await mapConcurrently(silent, maxConcurrent, async ({ key, row, sinceMs }) => {
      const { squidId, generation, container } = row
      const lines = await app.runtime.tail(workloadIdOf(squidId, generation), container, tailLines)
      // A program that does not use the SDK may have no metrics even if its data source responds.
      if (!lines.some(isSdkLine)) return
      const sentence = sourceSentence(lastSourceError(lines, sinceMs), processorSources.sourcesOf(row))
      sources.set(key, { squidId, generation, processor: container, sentence: redactorOf(squidId)(sentence) })
    })
    await cache.recordSources(sources)
  }
}

function silentSince(
  row: ContainerRow,
  metrics: ProcessorRow | undefined,
  { headOf }: ProcessorSources,
  nowMs: number,
): number | null {
  const startedMs = row.since.getTime()
  if (!metrics || metrics.scrapedAt < row.since) return nowMs - startedMs >= maxStartMs ? startedMs : null
  const head = headOf(row)?.head ?? null
  const signs = {
    scrapedAtMs: metrics.scrapedAt.getTime(),
    unresponsiveSinceMs: metrics.unansweredSince?.getTime() ?? null,
    nodeRespondedAtMs: metrics.answeredAt?.getTime() ?? null,
    nodeResponseRate: metrics.responseRate,
    headMovedAtMs: metrics.headMovedAt?.getTime() ?? null,
    headRate: metrics.headRate,
    head: head && { ...head, movedAtMs: head.movedAt.getTime(), observedAtMs: head.observedAt.getTime() },
  }
  return silenceOf(signs, nowMs)?.sinceMs ?? null
}
