import type { Direction, LinePosition, StoredLine } from '../lines-store.ts'
import type { LogPage } from './read-history.ts'

/**
 * Merges the pages that several databases returned for one query into one page. Any line may be in any of the databases. The page ends
 * where the first of the pages ends, because the database of that page may have further lines from there on.
 */
export function mergePages(pages: LogPage[], { direction, limit }: { direction: Direction; limit: number }): LogPage {
  const [only] = pages
  if (only && pages.length === 1) return only
  const compare = compareBy(direction)
  const [end = null] = pages.flatMap(({ next }) => next ?? []).sort(compare)
  const bySeq = new Map<number, StoredLine>(pages.flatMap(({ lines }) => lines).map((line) => [line.seq, line]))
  const all = [...bySeq.values()].filter((line) => end === null || compare(line, end) <= 0).sort(compare)
  const lines = all.slice(0, limit)
  const last = lines.at(-1)
  return {
    lines,
    next: last && all.length > limit ? { atMs: last.atMs, seq: last.seq } : end,
    lastSeq: Math.max(0, ...pages.map(({ lastSeq }) => lastSeq)),
  }
}

/** Orders positions by time, then by arrival. */
export const compareBy = (direction: Direction) => (a: LinePosition, b: LinePosition) =>
  (a.atMs - b.atMs || a.seq - b.seq) * (direction === 'asc' ? 1 : -1)
