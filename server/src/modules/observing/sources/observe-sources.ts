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
/** Without metrics for this long after its start it is looked at what it waits for. */
const startingMs = 60_000

type Known = Pick<ChainHeadCache, 'headOf' | 'sourcesOf'>

/** Notes of every processor that hears nothing from its data source which one that is, as far as its log, environment and code tell. */
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
    const now = new Map<string, SourceRow>()
    await mapConcurrently(silent, maxConcurrent, async ({ key, row, sinceMs }) => {
      const { squidId, generation, container } = row
      const lines = await app.runtime.tail(workloadIdOf(squidId, generation), container, tailLines)
      // Other programs may show no metrics at all.
      if (!lines.some(isSdkLine)) return
      const sentence = sourceSentence(troubleIn(lines, sinceMs), known.sourcesOf(row))
      now.set(key, { squidId, generation, processor: container, sentence: redactorOf(squidId)(sentence) })
    })
    await seen.recordSources(now)
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
