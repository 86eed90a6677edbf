import type { LogBatch, LogLine } from '@shoal/runtime'
import type { ClientBase } from 'pg'
import { dayOf, type Clock } from '../../../clock.ts'
import type { Db } from '../../../db/database.ts'
import { ensureDayPartition } from '../../../db/day-partitions.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { displayedContainer } from '../containers.ts'
import { workloadIdOf } from '../../manifest/index.ts'
import { redactJson, type Redactor } from '../../secrets/index.ts'
import type { RedactorLookup } from '../../databases/index.ts'
import { joinStacks, parseLine, type ParsedLine } from '../parse-line.ts'
import { fillBlocks, indexBlock, type OpenBlock } from './blocks.ts'
import { lineOfDrop, lineOfLoss, type Drops, type DropsOfBatch, type PendingDrop } from './drops.ts'
import {
  copyLines,
  updateCursor,
  updateStreams,
  notifyFollowers,
  readStreams,
  replacePendingDrops,
  type NewLine,
} from './ingest-store.ts'
import type { Limiter } from './limiter.ts'
import { storedBytes, writtenBytes } from './line-bytes.ts'
import { deleteStoredNotices, readNotices, recordStoredNotices, type Notice } from './notices-store.ts'
import { readOrgs, updateOrgUsage } from './usage-store.ts'
import { squidIdOf } from './workload.ts'

/** Stores lines in the database of logs. */
export type Writer = {
  /** Stores the lines, the lines that report drops, and the cursor after them in one transaction. */
  write: (batch: LogBatch) => Promise<WriteResult>
  /** Moves Shoal's own messages about versions to their logs. */
  writeNotices: () => Promise<WriteResult>
  /** Removes the state of deleted versions. */
  evict: (squidIds: number[]) => void
}

/** What a write stored and dropped. `storedLines` includes the lines that report drops. */
export type WriteResult = DropsOfBatch & { storedLines: number }

/** The last line of a version, and its open block. */
type StreamEnd = {
  squidId: number
  lastSeq: number
  open: OpenBlock
  /** Time of the last line of each container of each generation: times never decrease. */
  lastAtMs: Map<string, number>
}

type WriterOptions = {
  /** The database of the control plane. */
  db: Db
  /** Redacts secrets from the lines of each version before they are stored. */
  redactors: RedactorLookup
  /** Earlier times in lines are ignored, because their day was dropped. */
  oldestAtMs: () => number
  clock: Clock
  limiter: Pick<Limiter, 'limits' | 'usageOf' | 'usageOfOrgs' | 'addUsage' | 'assignOrg'>
  drops: Drops
}

/** Creates a writer on the connection that holds the ingestor's lock, so that no two processes assign the same `seq`. */
export function createWriter(client: ClientBase, options: WriterOptions): Writer {
  const { clock, limiter, drops } = options
  const streams = new Map<number, StreamEnd>()
  const knownDays = new Set<string>()

  const loadStreams = async (squidIds: number[]) => {
    const missing = squidIds.filter((id) => !streams.has(id))
    if (missing.length === 0) return
    const states = new Map((await readStreams(client, missing)).map((state) => [state.squidId, state]))
    for (const { squidId, orgId } of await readOrgs(options.db, missing)) limiter.assignOrg(squidId, orgId)
    for (const squidId of missing) {
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

  const write = async (
    { lines: read, dropped: batchDrops, lost = [], cursor }: LogBatch,
    noticeIds: number[] = [],
  ): Promise<WriteResult> => {
    const nowMs = clock.now().getTime()
    const raw = [...read, ...lost.map((loss) => lineOfLoss(loss, nowMs))]
    const bySquid = Map.groupBy(raw, (line) => squidIdOf(line.workload))
    bySquid.delete(null)
    const loggingIds = [...bySquid.keys()].filter((id) => id !== null)
    const { dropped, dueReports } = drops.record(batchDrops, nowMs)
    const droppingIds = [
      ...batchDrops.map((drop) => squidIdOf(drop.workload)),
      ...dueReports.map((drop) => drop.squidId),
    ]
    const squidIds = [...new Set([...loggingIds, ...droppingIds])].filter((id) => id !== null)
    await loadStreams(squidIds)
    const redactorOf = await options.redactors(loggingIds)
    const updates = squidIds.flatMap((id) => {
      const stream = streams.get(id)
      if (!stream) return []
      const rawOfSquid = bySquid.get(id) ?? []
      const stored = rawOfSquid.length === 0 ? [] : numberLines(stream, rawOfSquid, redactorOf(id), options)
      limiter.addUsage(id, Math.max(0, storedBytes(stored) - writtenBytes(rawOfSquid)))
      const reports = dueReports.filter((drop) => drop.squidId === id)
      const lines = [...stored, ...reports.map((drop) => reportLine(stream, drop, nowMs))]
      return [{ stream, lines, usage: limiter.usageOf(id) }]
    })
    const lines = updates.flatMap((update) => update.lines)
    await ensureDays(lines)
    await inTransaction(client, async () => {
      if (lines.length > 0) {
        await copyLines(client, lines)
        const extendedIds = updates.flatMap(({ stream, lines }) => (lines.length > 0 ? [stream.squidId] : []))
        await notifyFollowers(client, extendedIds)
      }
      if (updates.length > 0) {
        await updateStreams(
          client,
          updates.map((u) => ({
            ...u.stream,
            usage: u.usage,
            quotaReportedOn: drops.quotaReportedOn(u.stream.squidId),
          })),
        )
        await updateOrgUsage(client, limiter.usageOfOrgs(squidIds))
      }
      if (droppingIds.length > 0) await replacePendingDrops(client, squidIds, drops.pendingOf(squidIds))
      await updateCursor(client, cursor)
      if (noticeIds.length > 0) await recordStoredNotices(client, noticeIds)
    })
    if (noticeIds.length > 0) await deleteStoredNotices(client, options.db)
    for (const { stream, lines } of updates) {
      const { full, open } = fillBlocks(stream.open, lines)
      stream.open = open
      for (const block of full) limiter.addUsage(stream.squidId, await indexBlock(client, stream.squidId, block))
    }
    return { storedLines: lines.length, dropped, dueReports }
  }

  const reportLine = (stream: StreamEnd, drop: PendingDrop, nowMs: number): NewLine => ({
    ...lineOfDrop(drop, limiter.limits, nowMs),
    seq: ++stream.lastSeq,
  })

  const writeNotices = async (): Promise<WriteResult> => {
    const notices = await readNotices(client, options.db, maxNotices)
    if (notices.length === 0) return { storedLines: 0, dropped: [], dueReports: [] }
    return write(
      { lines: notices.map(lineOf), dropped: [], cursor: {} },
      notices.map(({ id }) => id),
    )
  }

  let last: Promise<unknown> = Promise.resolve()
  /** Writes run one after the other, since each assigns numbers. */
  const runNext = (work: () => Promise<WriteResult>): Promise<WriteResult> => {
    const result = last.then(work).catch((error: unknown) => {
      // Discards the numbers of lines that were not stored.
      streams.clear()
      throw error
    })
    last = result.catch(() => undefined)
    return result
  }
  return {
    write: (batch) => runNext(() => write(batch)),
    writeNotices: () => runNext(writeNotices),
    evict: (squidIds) => squidIds.forEach((squidId) => streams.delete(squidId)),
  }
}

/** Maximum number of notices that are moved at a time. */
const maxNotices = 1_000

const lineOf = ({ squidId, atMs, container, message }: Notice): LogLine => ({
  workload: workloadIdOf(squidId, 0),
  container,
  stream: 'stdout',
  text: JSON.stringify({ level: 'WARNING', time: atMs, ns: 'shoal', msg: message }),
  readAt: new Date(atMs),
})

/** Parses and redacts the lines, sorts them by time, and assigns the next numbers of the version. */
function numberLines(
  stream: StreamEnd,
  raw: LogLine[],
  redact: Redactor,
  options: Pick<WriterOptions, 'oldestAtMs'>,
): NewLine[] {
  const { squidId, lastAtMs } = stream
  const timedLines: Omit<NewLine, 'seq'>[] = []
  for (const [source, ofContainer] of Map.groupBy(raw, (line) => `${line.workload}/${line.container}`)) {
    const container = displayedContainer(ofContainer[0]?.container ?? '')
    const entries = joinStacks(ofContainer).map(({ text, readAt }) => ({
      readAtMs: readAt.getTime(),
      parsed: redactLine(redact, parseLine(text)),
    }))
    const times = writeTimesOf(entries, lastAtMs.get(source) ?? 0, options.oldestAtMs())
    lastAtMs.set(source, times.at(-1) ?? 0)
    for (const [i, { readAtMs, parsed }] of entries.entries()) {
      const { level, ns, message, fields } = parsed
      timedLines.push({ squidId, atMs: times[i] ?? readAtMs, level, container, ns, message, fields })
    }
  }
  // The sort is stable: lines of one container with the same time keep their order.
  timedLines.sort((a, b) => a.atMs - b.atMs)
  return timedLines.map((line) => ({ ...line, seq: ++stream.lastSeq }))
}

/** Redacts a line after it was parsed, because JSON can encode the same value in many ways. */
const redactLine = (redact: Redactor, line: ParsedLine): ParsedLine => ({
  ...line,
  ns: line.ns === null ? null : redact(line.ns),
  message: redact(line.message),
  fields: line.fields === null ? null : redactJson(redact, line.fields),
})

/**
 * Returns when each line of a container was written: the time in the line; if it has none, the time of the next line that has one;
 * otherwise the time at which the line was read. A time is never later than the time of reading, nor earlier than that of the previous
 * line, so that sorting by time keeps the order of writing.
 */
function writeTimesOf(
  entries: { readAtMs: number; parsed: ParsedLine }[],
  lastAtMs: number,
  oldestAtMs: number,
): number[] {
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
