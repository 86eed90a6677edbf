import type { Processor } from '@shoal/contract'
import { minutes } from '../../clock.ts'
import type { SeenContainer, SeenProcessor } from './present-store.ts'

/** A processor that has not moved for this long although its chain has, or does not answer for this long, is stuck. */
const patienceMs = minutes(5)
/** Without any metrics for this long after its start it is not known what it does. */
const unknownAfterMs = minutes(10)
/** Between two looks a chain may grow by a few blocks. */
const fewBlocks = 5
/** The SDK says it is done although fast chains are this much ahead: it asks for the head every 10 to 20 seconds only (contract 7). */
const blocksOfFastChain = 100
/** Restarted this often, it is in a crash loop, until it has run for a while. */
const crashesOfLoop = 3
const calmMs = minutes(2)

type Status = Pick<Processor, 'status' | 'reason'>

/** True while a container crashes again and again. */
export function isCrashLooping(row: SeenContainer, nowMs: number): boolean {
  if (row.state === 'failed') return true
  if (row.state === 'backoff') return row.restarts >= crashesOfLoop - 1
  return row.state === 'running' && row.restarts >= crashesOfLoop && nowMs - row.sinceMs < calmMs
}

/** What a processor does (spec 4, contract 7), and why when that is not well. */
export function processorStatus(
  container: SeenContainer | undefined,
  seen: SeenProcessor | undefined,
  nowMs: number,
): Status {
  if (!container) return { status: 'STARTING', reason: null }
  if (isCrashLooping(container, nowMs)) return { status: 'STUCK', reason: crashReason(container) }
  if (container.state === 'finished') return finished(container)
  if (container.state !== 'running') return { status: 'STARTING', reason: container.reason }
  // What was seen before the program was started anew says nothing of the new run.
  if (!seen || seen.scrapedAtMs < container.sinceMs) return unseen(container, nowMs)
  if (seen.unansweredSinceMs !== null && nowMs - seen.unansweredSinceMs >= patienceMs)
    return { status: 'STUCK', reason: `Its metrics have not answered since ${isoTime(seen.unansweredSinceMs)}.` }
  if (hasCaughtUp(seen)) return { status: 'SYNCED', reason: null }
  const stalledAtMs = stalledSince(seen, container.sinceMs)
  if (stalledAtMs !== null)
    return {
      status: 'STUCK',
      reason: `It has been at block ${seen.currentBlock} since ${isoTime(stalledAtMs)} while the chain went on to ${seen.totalBlocks}. Its log may say why; often its RPC endpoint does not answer.`,
    }
  return { status: 'SYNCING', reason: null }
}

export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** Exit 0 is the end of a finite range of blocks (contract 4.1). */
const finished = ({ exitCode, reason }: SeenContainer): Status =>
  exitCode === 0 ? { status: 'SYNCED', reason: 'It has finished its work.' } : { status: 'STUCK', reason }

function unseen({ sinceMs }: SeenContainer, nowMs: number): Status {
  if (nowMs - sinceMs < unknownAfterMs) return { status: 'STARTING', reason: null }
  return {
    status: 'UNKNOWN',
    reason:
      'It runs, but shows no metrics on the port of PROCESSOR_PROMETHEUS_PORT. Its data source may not answer: see its log.',
  }
}

function hasCaughtUp({ currentBlock, totalBlocks, etaSeconds }: SeenProcessor): boolean {
  const behind = totalBlocks - currentBlock
  if (currentBlock < 0 || totalBlocks <= 0) return false
  return behind <= fewBlocks || (etaSeconds === 0 && behind <= blocksOfFastChain)
}

/** Since when it has not moved, when that is long and the chain has moved meanwhile. Only what was seen counts, not what was missed. */
function stalledSince({ progressedAtMs, headMovedAtMs, scrapedAtMs }: SeenProcessor, startedMs: number): number | null {
  if (progressedAtMs === null || headMovedAtMs === null) return null
  const sinceMs = Math.max(progressedAtMs, startedMs)
  return headMovedAtMs > sinceMs && scrapedAtMs - sinceMs >= patienceMs ? sinceMs : null
}

/** A sentence: how it ended, and how often. */
export function crashReason({ reason, restarts, exitCode, isOutOfMemory }: SeenContainer): string {
  const ended = isOutOfMemory
    ? 'It ran out of memory'
    : (reason?.replace(/\.$/, '') ?? `It ended with code ${exitCode}`)
  return `${ended}. It was started anew ${restarts} times.`
}
