import type { ClientBase } from 'pg'
import { inTransaction } from '../../../db/transaction.ts'
import { bloomOf } from '../bloom.ts'
import type { SeqRange } from '../lines-store.ts'
import { addBlock, readLinesOfBlock, type LineOfBlock, type NewLine } from './ingest-store.ts'

/**
 * The maximum number of lines of a block. Scanning such a block takes a millisecond, and five million lines need only five thousand blocks.
 */
export const linesPerBlock = 1_000
/** A block that reaches this size is full, even with fewer than `linesPerBlock` lines. */
const maxBlockChars = 1_000_000

/** The newest lines of a version that are not in a block yet. */
export type OpenBlock = SeqRange & { chars: number }

/** Adds new lines to the open block. Returns the blocks that became full and the new open one. */
export function fillBlocks(open: OpenBlock, lines: NewLine[]): { full: SeqRange[]; open: OpenBlock } {
  const full: SeqRange[] = []
  let { firstSeq, lastSeq, chars } = open
  for (const line of lines) {
    lastSeq = line.seq
    chars += line.message.length + (line.fields?.length ?? 0)
    if (lastSeq - firstSeq + 1 < linesPerBlock && chars < maxBlockChars) continue
    full.push({ firstSeq, lastSeq })
    firstSeq = lastSeq + 1
    chars = 0
  }
  return { full, open: { firstSeq, lastSeq, chars } }
}

/**
 * Splits the lines that an earlier worker stored, but did not index, into full blocks. The remaining lines stay in the
 * open block.
 */
export function blocksOfBacklog(indexedSeq: number, lastSeq: number): SeqRange[] {
  const blocks: SeqRange[] = []
  for (let firstSeq = indexedSeq + 1; firstSeq + linesPerBlock - 1 <= lastSeq; firstSeq += linesPerBlock)
    blocks.push({ firstSeq, lastSeq: firstSeq + linesPerBlock - 1 })
  return blocks
}

/**
 * Reads the lines of a full block and stores its summary. Until then, searches read the lines of the block one by one. Returns the
 * size of its Bloom filter in bytes.
 */
export async function indexBlock(client: ClientBase, squidId: number, block: SeqRange): Promise<number> {
  const summary = blockSummaryOf(await readLinesOfBlock(client, squidId, block))
  await inTransaction(client, () => addBlock(client, squidId, block, summary))
  return summary?.bloom.length ?? 0
}

/** What a search needs to decide whether a block may contain matches. */
export type BlockSummary = {
  minAtMs: number
  maxAtMs: number
  levelMask: number
  containers: string[]
  bloom: Buffer
}

/** Summarizes the lines of a block. Returns null when they no longer exist, because their day was dropped. */
export function blockSummaryOf(lines: LineOfBlock[]): BlockSummary | null {
  if (lines.length === 0) return null
  const times = lines.map((line) => line.atMs)
  return {
    minAtMs: Math.min(...times),
    maxAtMs: Math.max(...times),
    levelMask: lines.reduce((mask, line) => mask | (1 << line.level), 0),
    containers: [...new Set(lines.map((line) => line.container))],
    bloom: bloomOf(lines.map((line) => line.text)),
  }
}
