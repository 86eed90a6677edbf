import type { Db } from '../../../db/database.ts'
import type { LogFilter } from '../filter.ts'
import {
  bytesOf,
  findStream,
  readRanges,
  type Direction,
  type LineQuery,
  type LinePosition,
  type SeqRange,
  type StoredLine,
} from '../lines-store.ts'
import { findCandidates, type CandidateBlock } from './block-store.ts'
import { compareBy } from './merge-pages.ts'

/** Which lines a page contains. */
export type HistoryQuery = {
  squidId: number
  fromMs: number | null
  toMs: number | null
  filter: LogFilter
  direction: Direction
  /** The end of the previous page. */
  after: LinePosition | null
  limit: number
  signal: AbortSignal
}

/** `next` is null on the last page. Any other page may be short, or even empty, when the search reached its limit of size or time. */
export type LogPage = {
  lines: StoredLine[]
  next: LinePosition | null
  /** The number of the version's last line, whether or not it matches the filter. */
  lastSeq: number
}
type PageDraft = Omit<LogPage, 'lastSeq'>

/** A search that takes longer returns the lines found so far. */
const searchBudgetMs = 5_000

/** The maximum size of a page. A line may have 64 KiB, and a process holds the pages of all tenants in its memory. */
const maxPageBytes = 8_000_000

/** Numbers of blocks per lookup and per scan. The first are small, because a few blocks fill most pages. */
const lookupBatchSizes = [8, 64, 512]
const scanBatchSizes = [1, 2, 4, 8, 16, 32]

/**
 * Returns a page of lines, ordered by time, then arrival. Scans the blocks that may contain matches in order, and stops when no
 * further block can contain a line of this page.
 */
export async function readHistory(db: Db, query: HistoryQuery): Promise<LogPage> {
  const stream = await findStream(db, query.squidId)
  if (!stream) return { lines: [], next: null, lastSeq: 0 }
  return { ...(await scanBlocks(db, query, stream)), lastSeq: stream.lastSeq }
}

async function scanBlocks(
  db: Db,
  query: HistoryQuery,
  { indexedSeq, lastSeq }: { indexedSeq: number; lastSeq: number },
): Promise<PageDraft> {
  const startedMs = performance.now()
  let { limit } = query
  let lines: StoredLine[] = []
  const addMatches = async (ranges: SeqRange[], timeRange: Pick<LineQuery, 'fromMs' | 'toMs'>) => {
    // Reads up to twice the size of a page, so that more lines are read than fit on it.
    const more = await readRanges(db, { ...query, ...timeRange, ranges, limit: limit + 1, maxBytes: 2 * maxPageBytes })
    const merged = [...lines, ...more].sort(compareBy(query.direction))
    limit = Math.min(limit, countLinesThatFit(merged))
    lines = merged.slice(0, limit + 1)
  }
  // Lines that are not in a block yet may have any time.
  await addMatches([{ firstSeq: indexedSeq + 1, lastSeq }], query)
  let blocks: CandidateBlock[] = []
  let lastFound: CandidateBlock | null = null
  for (let lookups = 0, rounds = 0; ; rounds++) {
    if (blocks.length === 0) {
      const limit = lookupBatchSizes[lookups++] ?? 512
      blocks = await findCandidates(db, { ...query, indexedSeq, afterBlock: lastFound, limit })
      lastFound = blocks.at(-1) ?? null
    }
    const [next] = blocks
    const last = lines[limit]
    if (!next || (last && precedesBlock(last, next, query.direction))) return pageOf(lines, limit)
    if (performance.now() - startedMs > searchBudgetMs || query.signal.aborted)
      return pageBefore(next, lines, { direction: query.direction, limit })
    const group = blocks.splice(0, scanBatchSizes[rounds] ?? 32)
    await addMatches(group, timeRangeOf(group, query))
  }
}

/** Returns the number of lines that fit on a page, including the one that fills it; Infinity if all fit. */
function countLinesThatFit(lines: StoredLine[]): number {
  let bytes = 0
  for (const [index, line] of lines.entries()) {
    bytes += bytesOf(line)
    if (bytes >= maxPageBytes) return index + 1
  }
  return Infinity
}

/** Narrows the query's time range to that of the lines in these blocks. */
const timeRangeOf = (blocks: CandidateBlock[], { fromMs, toMs }: HistoryQuery) => ({
  fromMs: Math.max(fromMs ?? -Infinity, Math.min(...blocks.map((block) => block.minAtMs))),
  toMs: Math.min(toMs ?? Infinity, Math.max(...blocks.map((block) => block.maxAtMs))),
})

const precedesBlock = (line: LinePosition, block: CandidateBlock, direction: Direction): boolean =>
  direction === 'desc' ? line.atMs > block.maxAtMs : line.atMs < block.minAtMs

function pageOf(matches: StoredLine[], limit: number): PageDraft {
  const lines = matches.slice(0, limit)
  const last = lines.at(-1)
  return { lines, next: last && matches.length > limit ? { atMs: last.atMs, seq: last.seq } : null }
}

/** Returns the lines that certainly precede `block`, the first unscanned one; the next page begins with that block. */
function pageBefore(
  block: CandidateBlock,
  matches: StoredLine[],
  { direction, limit }: Pick<HistoryQuery, 'direction' | 'limit'>,
): PageDraft {
  const lines = matches.filter((line) => precedesBlock(line, block, direction)).slice(0, limit)
  const isDescending = direction === 'desc'
  const edge = { atMs: isDescending ? block.maxAtMs : block.minAtMs, seq: isDescending ? Number.MAX_SAFE_INTEGER : 0 }
  const last = lines.at(-1)
  return { lines, next: lines.length === limit && last ? { atMs: last.atMs, seq: last.seq } : edge }
}
