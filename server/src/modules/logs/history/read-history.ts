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
  /** Where the page before ended. */
  after: LinePosition | null
  limit: number
  signal: AbortSignal
}

/** `next` is null at the end. A page may be short, even empty, and still have a next one: it was a long search. */
export type HistoryPage = {
  lines: StoredLine[]
  next: LinePosition | null
  /** Where the lines ended when the page was asked for, whatever the filter. */
  lastSeq: number
}
type PageDraft = Omit<HistoryPage, 'lastSeq'>

/** After that long a search answers what it has found so far. */
const searchBudgetMs = 5_000

/** Blocks looked up at once, and looked through at once: few at first, as most pages are full soon. */
const lookupBatchSizes = [8, 64, 512]
const scanBatchSizes = [1, 2, 4, 8, 16, 32]

/**
 * A page of lines by time, then arrival. Looks through blocks that may hold matches, in order, and stops when no block to come
 * can hold a line of this page.
 */
export async function readHistory(db: Db, asked: HistoryQuery): Promise<HistoryPage> {
  const stream = await findStream(db, asked.squidId)
  if (!stream) return { lines: [], next: null, lastSeq: 0 }
  return { ...(await scanBlocks(db, asked, stream)), lastSeq: stream.lastSeq }
}

async function scanBlocks(
  db: Db,
  asked: HistoryQuery,
  { indexedSeq, lastSeq }: { indexedSeq: number; lastSeq: number },
): Promise<PageDraft> {
  const startedMs = performance.now()
  const find = async (runs: SeqRange[], within: Pick<LineQuery, 'fromMs' | 'toMs'>, found: StoredLine[]) => {
    const more = await readRuns(db, { ...asked, ...within, runs, limit: asked.limit + 1 })
    return [...found, ...more].sort(inOrder(asked.direction)).slice(0, asked.limit + 1)
  }
  // Lines that are in no block yet may be of any time.
  let found = await find([{ firstSeq: indexedSeq + 1, lastSeq }], asked, [])
  let blocks: Candidate[] = []
  let beyond: Candidate | null = null
  for (let lookUps = 0, rounds = 0; ; rounds++) {
    if (blocks.length === 0) {
      const limit = lookupBatchSizes[lookUps++] ?? 512
      blocks = await findCandidates(db, { ...asked, indexedSeq, beyond, limit })
      beyond = blocks.at(-1) ?? null
    }
    const [next] = blocks
    const last = found[asked.limit]
    if (!next || (last && isSurelyBefore(last, next, asked.direction))) return pageOf(found, asked.limit)
    if (performance.now() - startedMs > searchBudgetMs || asked.signal.aborted) return cutBefore(next, found, asked)
    const group = blocks.splice(0, scanBatchSizes[rounds] ?? 32)
    found = await find(group, timesOf(group, asked), found)
  }
}

/** Leaves out the days in which none of these blocks has a line. */
const timesOf = (blocks: Candidate[], { fromMs, toMs }: HistoryQuery) => ({
  fromMs: Math.max(fromMs ?? -Infinity, Math.min(...blocks.map((block) => block.minAtMs))),
  toMs: Math.min(toMs ?? Infinity, Math.max(...blocks.map((block) => block.maxAtMs))),
})

const inOrder = (direction: Direction) => (a: LinePosition, b: LinePosition) =>
  (a.atMs - b.atMs || a.seq - b.seq) * (direction === 'asc' ? 1 : -1)

const isSurelyBefore = (line: LinePosition, block: Candidate, direction: Direction): boolean =>
  direction === 'desc' ? line.atMs > block.maxAtMs : line.atMs < block.minAtMs

function pageOf(found: StoredLine[], limit: number): PageDraft {
  const lines = found.slice(0, limit)
  const last = lines.at(-1)
  return { lines, next: last && found.length > limit ? { atMs: last.atMs, seq: last.seq } : null }
}

/** What is sure although `block` and those after it were not looked through; the next page begins with them. */
function cutBefore(block: Candidate, found: StoredLine[], { direction, limit }: HistoryQuery): PageDraft {
  const lines = found.filter((line) => isSurelyBefore(line, block, direction)).slice(0, limit)
  const isDown = direction === 'desc'
  const edge = { atMs: isDown ? block.maxAtMs : block.minAtMs, seq: isDown ? Number.MAX_SAFE_INTEGER : 0 }
  const last = lines.at(-1)
  return { lines, next: lines.length === limit && last ? { atMs: last.atMs, seq: last.seq } : edge }
}
