import type { ClientBase } from 'pg'
import { inTransaction } from '../../../db/transaction.ts'
import { bloomOf } from '../bloom.ts'
import type { SeqRange } from '../lines-store.ts'
import { addBlock, readLinesOfBlock, type LineOfBlock, type NewLine } from './ingest-store.ts'

/** Small enough to scan in a millisecond, large enough that five million lines have only five thousand blocks. */
export const linesOfBlock = 1_000
/** Lines may be long: then a block is full earlier. */
const charsOfBlock = 1_000_000

/** The newest lines of a version that are not in a block yet. */
export type OpenBlock = SeqRange & { chars: number }

/** Adds new lines to the open block. Returns the blocks that became full and the new open one. */
export function fillBlocks(open: OpenBlock, lines: NewLine[]): { full: SeqRange[]; open: OpenBlock } {
  const full: SeqRange[] = []
  let { firstSeq, lastSeq, chars } = open
  for (const line of lines) {
    lastSeq = line.seq
    chars += line.message.length + (line.fields?.length ?? 0)
    if (lastSeq - firstSeq + 1 < linesOfBlock && chars < charsOfBlock) continue
    full.push({ firstSeq, lastSeq })
    firstSeq = lastSeq + 1
    chars = 0
  }
  return { full, open: { firstSeq, lastSeq, chars } }
}

/** Splits lines that an earlier worker left without blocks; the remainder stays open. */
export function blocksOfBacklog(indexedSeq: number, lastSeq: number): SeqRange[] {
  const blocks: SeqRange[] = []
  for (let firstSeq = indexedSeq + 1; firstSeq + linesOfBlock - 1 <= lastSeq; firstSeq += linesOfBlock)
    blocks.push({ firstSeq, lastSeq: firstSeq + linesOfBlock - 1 })
  return blocks
}

/** Reads the lines of a full block again and stores its summary. Until then its lines are searched one by one. */
export async function indexBlock(client: ClientBase, squidId: number, block: SeqRange): Promise<void> {
  const lines = await readLinesOfBlock(client, squidId, block)
  await inTransaction(client, () => addBlock(client, squidId, block, summaryOf(lines)))
}

export type BlockSummary = {
  minAtMs: number
  maxAtMs: number
  levelMask: number
  containers: string[]
  bloom: Buffer
}

/** Null without lines: their day was dropped in the meantime. */
function summaryOf(lines: LineOfBlock[]): BlockSummary | null {
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
