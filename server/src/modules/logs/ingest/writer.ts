import type { LogBatch, LogLine } from '@shoal/runtime'
import type { ClientBase } from 'pg'
import { dayOf, ensureDayPartition } from '../../../db/day-partitions.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { shownContainer } from '../containers.ts'
import { redactJson, type Redactor } from '../../secrets/index.ts'
import type { RedactorSource } from '../../databases/index.ts'
import { joinStacks, parseLine, type ParsedLine } from '../parse-line.ts'
import { fillBlocks, indexBlock, type OpenBlock } from './blocks.ts'
import { copyLines, moveCursor, moveStreams, notifyFollowers, readStreams, type NewLine } from './ingest-store.ts'

export type Writer = {
  /** Stores the lines and the cursor after them, both or neither. */
  write: (batch: LogBatch) => Promise<void>
}

/** The end of a version's lines, and the open block. */
type StreamEnd = {
  squidId: number
  lastSeq: number
  open: OpenBlock
  /** Time of the last line of each container of each generation: times never decrease. */
  lastAtMs: Map<string, number>
}

type WriterOptions = {
  /** Called before lines are stored. */
  hiding: RedactorSource
  /** Earlier times in lines are ignored, because their day was dropped. */
  oldestAtMs: () => number
}

/** Writes batches through the connection that holds the ingestor's lock, so that no two processes assign the same `seq`. */
export function createWriter(client: ClientBase, options: WriterOptions): Writer {
  const streams = new Map<number, StreamEnd>()
  const knownDays = new Set<string>()

  const load = async (squidIds: number[]) => {
    const unknown = squidIds.filter((id) => !streams.has(id))
    if (unknown.length === 0) return
    const states = new Map((await readStreams(client, unknown)).map((state) => [state.squidId, state]))
    for (const squidId of unknown) {
      const { lastSeq = 0, indexedSeq = 0 } = states.get(squidId) ?? {}
      const open = { firstSeq: indexedSeq + 1, lastSeq, chars: 0 }
      streams.set(squidId, { squidId, lastSeq, open, lastAtMs: new Map() })
    }
  }

  const ensureDays = async (lines: NewLine[]) => {
    for (const day of new Set(lines.map((line) => dayOf(line.atMs)))) {
      if (!knownDays.has(day)) await ensureDayPartition(client, 'log_lines', day)
      knownDays.add(day)
    }
  }

  const write = async ({ lines: raw, cursor }: LogBatch) => {
    const bySquid = Map.groupBy(raw, squidOf)
    bySquid.delete(null)
    const squidIds = [...bySquid.keys()].filter((id) => id !== null)
    await load(squidIds)
    const redactorOf = await options.hiding(squidIds)
    const moved = squidIds.flatMap((id) => {
      const stream = streams.get(id)
      return stream ? [{ stream, lines: numbered(stream, bySquid.get(id) ?? [], redactorOf(id), options) }] : []
    })
    const lines = moved.flatMap((of) => of.lines)
    await ensureDays(lines)
    await inTransaction(client, async () => {
      if (lines.length > 0) {
        await copyLines(client, lines)
        await moveStreams(
          client,
          moved.map((of) => of.stream),
        )
        await notifyFollowers(client, squidIds)
      }
      await moveCursor(client, cursor)
    })
    for (const { stream, lines } of moved) {
      const { full, open } = fillBlocks(stream.open, lines)
      stream.open = open
      for (const block of full) await indexBlock(client, stream.squidId, block)
    }
  }

  return {
    write: async (batch) => {
      try {
        await write(batch)
      } catch (error) {
        // Numbers assigned to lines that were not stored must be released.
        streams.clear()
        throw error
      }
    },
  }
}

/** Squid id of `<squidId>.<generation>`; null for other workloads. */
function squidOf(line: LogLine): number | null {
  const id = /^(\d+)\./.exec(line.workload)?.[1]
  return id === undefined ? null : Number(id)
}

/** Parsed, sorted by time, with the next numbers of the version. */
function numbered(
  stream: StreamEnd,
  raw: LogLine[],
  redact: Redactor,
  options: Pick<WriterOptions, 'oldestAtMs'>,
): NewLine[] {
  const { squidId, lastAtMs } = stream
  const timed: Omit<NewLine, 'seq'>[] = []
  for (const [source, ofContainer] of Map.groupBy(raw, (line) => `${line.workload}/${line.container}`)) {
    const container = shownContainer(ofContainer[0]?.container ?? '')
    const entries = joinStacks(ofContainer).map(({ text, readAt }) => ({
      readAtMs: readAt.getTime(),
      parsed: redactedLine(redact, parseLine(text)),
    }))
    const times = timesOf(entries, lastAtMs.get(source) ?? 0, options.oldestAtMs())
    lastAtMs.set(source, times.at(-1) ?? 0)
    for (const [i, { readAtMs, parsed }] of entries.entries()) {
      const { level, ns, message, fields } = parsed
      timed.push({ squidId, atMs: times[i] ?? readAtMs, level, container, ns, message, fields })
    }
  }
  // Stable: lines of one container with the same time keep their order.
  timed.sort((a, b) => a.atMs - b.atMs)
  return timed.map((line) => ({ ...line, seq: ++stream.lastSeq }))
}

/** Redacts after parsing, because JSON has too many spellings of a value. */
const redactedLine = (redact: Redactor, line: ParsedLine): ParsedLine => ({
  ...line,
  ns: line.ns === null ? null : redact(line.ns),
  message: redact(line.message),
  fields: line.fields === null ? null : redactJson(redact, line.fields),
})

/**
 * When each line of a container was written: its own time, else that of the next line that has one, else the time it was read.
 * Never later than that, and never decreasing, so that sorting by time keeps the order of writing.
 */
function timesOf(entries: { readAtMs: number; parsed: ParsedLine }[], lastAtMs: number, oldestAtMs: number): number[] {
  const times: number[] = []
  let nextMs = Infinity
  for (const { readAtMs, parsed } of entries.toReversed()) {
    const { writtenAtMs } = parsed
    if (writtenAtMs !== null && writtenAtMs >= oldestAtMs) nextMs = writtenAtMs
    times.push(Math.min(nextMs, readAtMs))
  }
  let last = lastAtMs
  return times.toReversed().map((time) => (last = Math.max(last, time)))
}
