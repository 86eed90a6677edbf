import type { LogLoss } from '../../../driver.ts'
import type { FilePosition, ReadPart } from './file-position.ts'

/** A period whose lines are missing, before a part that was read. */
type Gap = Pick<LogLoss, 'from' | 'to' | 'isCertain'> & { before: ReadPart }

/** Lines that arrive in another order fill a gap within this time, since a collector reads all files at the same time. */
const SETTLED_MS = 60_000
/** Minimum length of a period whose files kubelet may have deleted: it keeps the last few files, and each covers at least this time. */
const MIN_LOST_MS = 5000
/** A line with invalid UTF-8 is counted with more bytes than in its file, and a line that ends with a carriage return with one byte less. */
const MAX_MISCOUNTED_BYTES = 64 * 1024

/** The gaps of one run's log that were not reported yet, with the time since which each has not changed. */
export class LogGaps {
  #sinceMs = new Map<string, number>()

  /**
   * Returns each gap once, when no lines will fill it any more, and marks it as reported in `position`, which the caller must store
   * with the report.
   */
  takeSettled(position: FilePosition, nowMs: number): Omit<Gap, 'before'>[] {
    if (position.parts.every(({ start = 0 }, index) => start === 0 && index === 0)) return []
    const gaps = gapsOf(position.parts)
    const keys = gaps.map(({ from, to }) => `${from?.toISOString()} ${to.toISOString()}`)
    this.#sinceMs = new Map(keys.map((key) => [key, this.#sinceMs.get(key) ?? nowMs]))
    return gaps.flatMap(({ before, ...gap }, index) => {
      if (nowMs - (this.#sinceMs.get(keys[index] ?? '') ?? nowMs) < SETTLED_MS) return []
      before.isReported = true
      return [gap]
    })
  }
}

/**
 * Returns the gaps before the parts. Certain: lines are missing before a part that does not begin at the start of its file. Probable:
 * files are missing before a part that begins its file, if the collector read the part late and the part begins long after the
 * previous one, since kubelet deletes old files.
 */
function gapsOf(parts: readonly ReadPart[]): Gap[] {
  const sorted = parts.toSorted((first, second) => (firstTime(first) < firstTime(second) ? -1 : 1))
  return sorted.flatMap((part, index): Gap[] => {
    const { start, isLate, isReported } = part
    if (start === undefined || isReported) return []
    const last = sorted.slice(0, index).map(lastTime).reduce(later, '')
    const from = last === '' ? null : new Date(last)
    const to = new Date(firstTime(part))
    if (start > 0)
      return parts.some((other) => other !== part && continues(other, start))
        ? []
        : [{ from, to, isCertain: true, before: part }]
    const isProbable = isLate && from !== null && to.getTime() - from.getTime() >= MIN_LOST_MS
    return isProbable ? [{ from, to, isCertain: false, before: part }] : []
  })
}

/** True if a part that starts at this offset follows the other one in the same file. */
const continues = ({ end }: ReadPart, start: number): boolean => end - start >= -1 && end - start < MAX_MISCOUNTED_BYTES

const later = (first: string, second: string): string => (first > second ? first : second)

const firstTime = ({ stdout, stderr }: ReadPart): string =>
  [stdout?.[0], stderr?.[0]].filter((time) => time !== undefined).toSorted()[0] ?? ''

const lastTime = ({ stdout, stderr }: ReadPart): string => [stdout?.[1] ?? '', stderr?.[1] ?? ''].reduce(later)
