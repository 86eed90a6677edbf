import type { Runtime } from '@shoal/runtime'

/**
 * Why a processor ended with exit code 0, according to its log. `done`: it has processed its last block. `stopped`: it has no last
 * block. `unknown`: the log does not show that it reached its last block.
 */
export type Ending = 'done' | 'stopped' | 'unknown'

/** The number of lines of the newest run to read; enough to include the start of a run that logs little. */
const TAIL_LINES = 200

/** Lines that the SDK's processor logs at its start and while it makes progress. */
const NOTHING_LEFT = /\bnothing to do\b/
const RANGE = /\bprocessing blocks from \d+(?: to (\d+))?/
const PROGRESS = /\b(\d+) \/ \d+, rate: /

/** Determines how a processor ended from its last lines, oldest first. */
export function endingOf(lines: readonly string[]): Ending {
  let ending: Ending = 'unknown'
  let lastBlock = Infinity
  for (const line of lines) {
    const range = RANGE.exec(line)
    const progress = PROGRESS.exec(line)
    if (NOTHING_LEFT.test(line)) ending = 'done'
    else if (range) {
      lastBlock = range[1] === undefined ? Infinity : Number(range[1])
      ending = lastBlock === Infinity ? 'stopped' : 'unknown'
    } else if (progress && lastBlock < Infinity) ending = Number(progress[1]) >= lastBlock ? 'done' : 'unknown'
  }
  return ending
}

/**
 * Restarts a processor that ended with exit code 0, with the back-off of a crash, unless it has finished its work. Returns whether it
 * has finished. A processor whose log does not show how far it got is restarted once: the SDK's processors then log that nothing is
 * left to do.
 * `hasNewBlocks` returns whether its chain is known to have blocks that the processor has not processed.
 */
export async function restartUnlessFinished(
  runtime: Pick<Runtime, 'tail' | 'retry'>,
  { workload, container, crashesInARow }: { workload: string; container: string; crashesInARow: number },
  hasNewBlocks: () => boolean,
): Promise<boolean> {
  const ending = endingOf(await runtime.tail(workload, container, TAIL_LINES))
  if (ending === 'done') return true
  const isFirstEnd = ending === 'unknown' && crashesInARow === 0
  if (ending === 'unknown' && !isFirstEnd && !hasNewBlocks()) return true
  await runtime.retry(workload, container, isFirstEnd ? UNCLEAR_END_REASON : STOPPED_REASON)
  return false
}

const STOPPED_REASON = 'It ended although its chain continues to grow'
const UNCLEAR_END_REASON = 'It ended without an error. It is started again to see whether it has finished its work'
