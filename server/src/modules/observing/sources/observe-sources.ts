import type { WorkerApp } from '../../../app.ts'
import { mapConcurrently } from '@shoal/runtime'
import { createRedactorSource, type RedactorSource } from '../../databases/index.ts'
import type { ChainHeadCache } from './known-heads.ts'
import type { ContainerRow, ProcessorRow, SourceRow } from '../observe-store.ts'
import type { ObservationCache } from '../observation-cache.ts'
import { silenceOf } from '../progress/silence.ts'
import { isSdkLine, sourceSentence, troubleIn } from './source-log.ts'
import { isProcessor, workloadIdOf } from '../../manifest/index.ts'

const maxConcurrent = 8
const tailLines = 100
/** The log of a processor that has no metrics this long after its start is checked for its data source. */
const startingMs = 60_000

type Known = Pick<ChainHeadCache, 'headOf' | 'sourcesOf'>

/**
 * Returns a function that records, for every processor whose data source does not respond, which source that is according to the
 * processor's log, environment and code.
 */
export function createSourceLook(
  app: WorkerApp,
  seen: ObservationCache,
  known: Known,
  redactors: RedactorSource = createRedactorSource(app),
) {
  return async (): Promise<void> => {
    const nowMs = app.clock.now().getTime()
    const silent = [...seen.containers].flatMap(([key, row]) => {
      if (row.state !== 'running' || !isProcessor({ name: row.container })) return []
      const sinceMs = silentSince(row, seen.processors.get(key), known, nowMs)
      return sinceMs === null ? [] : [{ key, row, sinceMs }]
    })
    const redactorOf = await redactors([...new Set(silent.map(({ row }) => row.squidId))])
    const sources = new Map<string, SourceRow>()
    await mapConcurrently(silent, maxConcurrent, async ({ key, row, sinceMs }) => {
      const { squidId, generation, container } = row
      const lines = await app.runtime.tail(workloadIdOf(squidId, generation), container, tailLines)
      // A program that does not use the SDK may have no metrics at all, whatever its data source does.
      if (!lines.some(isSdkLine)) return
      const sentence = sourceSentence(troubleIn(lines, sinceMs), known.sourcesOf(row))
      sources.set(key, { squidId, generation, processor: container, sentence: redactorOf(squidId)(sentence) })
    })
    await seen.recordSources(sources)
  }
}

function silentSince(
  row: ContainerRow,
  seen: ProcessorRow | undefined,
  { headOf }: Known,
  nowMs: number,
): number | null {
  const startedMs = row.since.getTime()
  if (!seen || seen.scrapedAt < row.since) return nowMs - startedMs >= startingMs ? startedMs : null
  const head = headOf(row)?.head ?? null
  const signs = {
    scrapedAtMs: seen.scrapedAt.getTime(),
    unansweredSinceMs: seen.unansweredSince?.getTime() ?? null,
    answeredAtMs: seen.answeredAt?.getTime() ?? null,
    answerPace: seen.answerPace,
    headMovedAtMs: seen.headMovedAt?.getTime() ?? null,
    headPace: seen.headPace,
    head: head && { ...head, movedAtMs: head.movedAt.getTime(), observedAtMs: head.observedAt.getTime() },
  }
  return silenceOf(signs, nowMs)?.sinceMs ?? null
}
