import type { Runtime } from '@shoal/runtime'

/**
 * What the end of a processor with exit code 0 means. `done`: it has said that it has processed its last block. `stopped`: it has no
 * last block, or has not reached it. `unknown`: it has said neither.
 */
export type Ending = 'done' | 'stopped' | 'unknown'

/** Of the newest run, and enough to find where it began when it says little. */
const TAIL_LINES = 200

/** What the SDK's processor writes when it starts, and as it goes on (contract 7). */
const NOTHING_LEFT = /\bnothing to do\b/
const RANGE = /\bprocessing blocks from \d+(?: to (\d+))?/
const PROGRESS = /\b(\d+) \/ \d+, rate: /

/** Reads it from the processor's last lines, oldest first. */
export function endingOf(lines: readonly string[]): Ending {
  let ending: Ending = 'unknown'
  let last = Infinity
  for (const line of lines) {
    const range = RANGE.exec(line)
    const progress = PROGRESS.exec(line)
    if (NOTHING_LEFT.test(line)) ending = 'done'
    else if (range) {
      last = range[1] === undefined ? Infinity : Number(range[1])
      ending = last === Infinity ? 'stopped' : 'unknown'
    } else if (progress && last < Infinity) ending = Number(progress[1]) >= last ? 'done' : 'unknown'
  }
  return ending
}

/**
 * Decides about a processor that ended with exit code 0: true when it has finished its work; otherwise it is started again, with
 * the back-off of a crash. One that has not said how far it was is asked once more: the SDK's processors say then that nothing is
 * left. `movesOn`: its chain has blocks that it has not processed, as far as is known.
 */
export async function hasFinished(
  runtime: Pick<Runtime, 'tail' | 'retry'>,
  { workload, container, crashesInARow }: { workload: string; container: string; crashesInARow: number },
  movesOn: () => boolean,
): Promise<boolean> {
  const ending = endingOf(await runtime.tail(workload, container, TAIL_LINES))
  if (ending === 'done') return true
  const isSelected = ending === 'unknown' && crashesInARow === 0
  if (ending === 'unknown' && !isSelected && !movesOn()) return true
  await runtime.retry(workload, container, isSelected ? ASKED : STOPPED)
  return false
}

const STOPPED = 'It ended although its chain goes on'
const ASKED = 'It ended without an error. It is started again to see whether it has finished its work'
