import type { ClientBase } from 'pg'
import { dayOf } from '../../../clock.ts'
import { ensureDayPartition } from '../../../db/day-partitions.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { blocksOfBacklog, linesPerBlock, blockSummaryOf } from '../ingest/blocks.ts'
import { copyLines, insertBlock, readStreams, type NewLine } from '../ingest/ingest-store.ts'
import { textOf } from '../filter.ts'
import type { SeqRange } from '../lines-store.ts'
import { deleteVersion, readBlockRanges, readLinesOf } from './copy-store.ts'

/** A batch is one transaction. A block has at most about 1 MB of text. */
const blocksPerBatch = 8

/** How to move a version. */
export type MoveOptions = {
  /** Lines of earlier days are not copied, because the target has dropped their days. */
  oldestAtMs: number
  signal: AbortSignal
  /** Called after each batch, with its duration. */
  afterBatch: (ms: number) => Promise<void>
}

/** Copies a version, then deletes it in the source, which no longer changes. Returns false if `signal` aborted the move. */
export async function moveVersion(
  source: ClientBase,
  target: ClientBase,
  squidId: number,
  options: MoveOptions,
): Promise<boolean> {
  if (!(await copyVersion(source, target, squidId, options))) return false
  await deleteVersion(source, squidId)
  return true
}

/**
 * Copies the lines of a version with their blocks to the target. A block and its lines are written in one transaction, so the blocks in
 * the target are exactly those that need not be copied again after an interruption. Returns false if `signal` aborted the copy.
 */
export async function copyVersion(
  source: ClientBase,
  target: ClientBase,
  squidId: number,
  options: MoveOptions,
): Promise<boolean> {
  const copied = new Set((await readBlockRanges(target, squidId)).map(({ firstSeq }) => firstSeq))
  const missing = (await rangesOf(source, squidId)).filter(({ firstSeq }) => !copied.has(firstSeq))
  for (let start = 0; start < missing.length; start += blocksPerBatch) {
    if (options.signal.aborted) return false
    const startedMs = performance.now()
    await copyRanges(source, target, squidId, missing.slice(start, start + blocksPerBatch), options.oldestAtMs)
    await options.afterBatch(performance.now() - startedMs)
  }
  return !options.signal.aborted
}

/** Returns the blocks of a version and the ranges of its lines that are in no block yet, newest first. */
async function rangesOf(source: ClientBase, squidId: number): Promise<SeqRange[]> {
  const [stream] = await readStreams(source, [squidId])
  if (!stream) return []
  const backlog = blocksOfBacklog(stream.indexedSeq, stream.lastSeq)
  const openFirstSeq = stream.indexedSeq + backlog.length * linesPerBlock + 1
  const open = openFirstSeq <= stream.lastSeq ? [{ firstSeq: openFirstSeq, lastSeq: stream.lastSeq }] : []
  return [...open, ...backlog.toReversed(), ...(await readBlockRanges(source, squidId))]
}

async function copyRanges(
  source: ClientBase,
  target: ClientBase,
  squidId: number,
  ranges: SeqRange[],
  oldestAtMs: number,
): Promise<void> {
  const lines = (await readLinesOf(source, squidId, ranges)).filter((line) => line.atMs >= oldestAtMs)
  if (lines.length === 0) return
  for (const day of new Set(lines.map((line) => dayOf(line.atMs)))) await ensureDayPartition(target, 'log_lines', day)
  await inTransaction(target, async () => {
    await copyLines(target, lines)
    for (const range of ranges) {
      const summary = blockSummaryOf(lines.filter((line) => isIn(range, line)).map(lineOfBlock))
      if (summary) await insertBlock(target, squidId, range, summary)
    }
  })
}

const isIn = ({ firstSeq, lastSeq }: SeqRange, { seq }: NewLine) => seq >= firstSeq && seq <= lastSeq

const lineOfBlock = (line: NewLine) => ({
  atMs: line.atMs,
  level: line.level,
  container: line.container,
  text: textOf(line),
})
