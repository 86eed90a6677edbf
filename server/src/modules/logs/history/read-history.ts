import type { Db } from '../../../db/database.ts'
import type { LogFilter } from '../filter.ts'
import {
  findStream,
  readRuns,
  type Direction,
  type LineQuery,
  type LinePosition,
  type SeqRange,
  type StoredLine,
} from '../lines-store.ts'
import { findCandidates, type Candidate } from './block-store.ts'

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

/** `next` is null at the end. A page may be short, even empty, and still have a next one when the search took long. */
export type HistoryPage = {
  lines: StoredLine[]
  next: LinePosition | null
  /** The last line when the page was requested, regardless of the filter. */
  lastSeq: number
}
type PageDraft = Omit<HistoryPage, 'lastSeq'>

/** A search that takes longer returns the lines found so far. */
const searchBudgetMs = 5_000

/** Blocks per lookup and per scan: few at first, because most pages are full soon. */
const lookupBatchSizes = [8, 64, 512]
const scanBatchSizes = [1, 2, 4, 8, 16, 32]

/**
 * A page of lines by time, then arrival. Scans blocks that may contain matches, in order, and stops when no further block can
 * contain a line of this page.
 */
export async function readHistory(db: Db, query: HistoryQuery): Promise<HistoryPage> {
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
  const find = async (runs: SeqRange[], within: Pick<LineQuery, 'fromMs' | 'toMs'>, lines: StoredLine[]) => {
    const more = await readRuns(db, { ...query, ...within, runs, limit: query.limit + 1 })
    return [...lines, ...more].sort(inOrder(query.direction)).slice(0, query.limit + 1)
  }
  // Lines that are not in a block yet may have any time.
  let lines = await find([{ firstSeq: indexedSeq + 1, lastSeq }], query, [])
  let blocks: Candidate[] = []
  let beyond: Candidate | null = null
  for (let lookUps = 0, rounds = 0; ; rounds++) {
    if (blocks.length === 0) {
      const limit = lookupBatchSizes[lookUps++] ?? 512
      blocks = await findCandidates(db, { ...query, indexedSeq, beyond, limit })
      beyond = blocks.at(-1) ?? null
    }
    const [next] = blocks
    const last = lines[query.limit]
    if (!next || (last && isSurelyBefore(last, next, query.direction))) return pageOf(lines, query.limit)
    if (performance.now() - startedMs > searchBudgetMs || query.signal.aborted) return cutBefore(next, lines, query)
    const group = blocks.splice(0, scanBatchSizes[rounds] ?? 32)
    lines = await find(group, timesOf(group, query), lines)
  }
}

/** Narrows the range to the days in which these blocks have lines. */
const timesOf = (blocks: Candidate[], { fromMs, toMs }: HistoryQuery) => ({
  fromMs: Math.max(fromMs ?? -Infinity, Math.min(...blocks.map((block) => block.minAtMs))),
  toMs: Math.min(toMs ?? Infinity, Math.max(...blocks.map((block) => block.maxAtMs))),
})

const inOrder = (direction: Direction) => (a: LinePosition, b: LinePosition) =>
  (a.atMs - b.atMs || a.seq - b.seq) * (direction === 'asc' ? 1 : -1)

const isSurelyBefore = (line: LinePosition, block: Candidate, direction: Direction): boolean =>
  direction === 'desc' ? line.atMs > block.maxAtMs : line.atMs < block.minAtMs

function pageOf(matches: StoredLine[], limit: number): PageDraft {
  const lines = matches.slice(0, limit)
  const last = lines.at(-1)
  return { lines, next: last && matches.length > limit ? { atMs: last.atMs, seq: last.seq } : null }
}

/** The lines that no unscanned block can precede; the next page begins with `block`. */
function cutBefore(block: Candidate, matches: StoredLine[], { direction, limit }: HistoryQuery): PageDraft {
  const lines = matches.filter((line) => isSurelyBefore(line, block, direction)).slice(0, limit)
  const isDown = direction === 'desc'
  const edge = { atMs: isDown ? block.maxAtMs : block.minAtMs, seq: isDown ? Number.MAX_SAFE_INTEGER : 0 }
  const last = lines.at(-1)
  return { lines, next: lines.length === limit && last ? { atMs: last.atMs, seq: last.seq } : edge }
}
