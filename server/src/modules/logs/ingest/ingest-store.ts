import { once } from 'node:events'
import type { ClientBase } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { dropDayPartitionsBefore } from '../../../db/day-partitions.ts'
import { logsChannel, searchedText, type SeqRange } from '../lines-store.ts'
import type { BlockSummary } from './blocks.ts'
import type { PendingDrop } from './drops.ts'
import type { DayVolume, LimitKind } from './limiter.ts'

/** A line to insert. */
export type NewLine = {
  squidId: number
  seq: number
  atMs: number
  level: number
  container: string
  ns: string | null
  message: string
  fields: string | null
}

/** The number of a version's last line, and of its last line in a block. */
export type StreamState = { squidId: number; lastSeq: number; indexedSeq: number }

/** Returns the read position of each log source of the runtime. */
export async function readCursor(client: ClientBase): Promise<Record<string, string>> {
  const { rows } = await client.query<{ source: string; position: string }>('select source, position from log_cursors')
  return Object.fromEntries(rows.map((row) => [row.source, row.position]))
}

/** Merges the changes into the stored cursor; an empty position removes its source. */
export async function updateCursor(client: ClientBase, changes: Record<string, string>): Promise<void> {
  const updated = Object.entries(changes).filter(([, position]) => position !== '')
  const removed = Object.keys(changes).filter((source) => changes[source] === '')
  if (updated.length > 0)
    await client.query(
      `insert into log_cursors (source, position) select * from unnest($1::text[], $2::text[])
       on conflict (source) do update set position = excluded.position`,
      [updated.map(([source]) => source), updated.map(([, position]) => position)],
    )
  if (removed.length > 0) await client.query('delete from log_cursors where source = any($1)', [removed])
}

/** Returns the state of these versions; omits versions without lines. */
export async function readStreams(client: ClientBase, squidIds: number[]): Promise<StreamState[]> {
  const { rows } = await client.query<StreamState>(
    'select squid_id as "squidId", last_seq as "lastSeq", indexed_seq as "indexedSeq" from log_streams where squid_id = any($1)',
    [squidIds],
  )
  return rows
}

/** Returns the versions with at least `lines` lines that are not in a block yet. */
export async function findUnindexed(client: ClientBase, lines: number): Promise<StreamState[]> {
  const { rows } = await client.query<StreamState>(
    `select squid_id as "squidId", last_seq as "lastSeq", indexed_seq as "indexedSeq" from log_streams
     where last_seq - indexed_seq >= $1`,
    [lines],
  )
  return rows
}

/** `quotaReportedOn`: the last day on which the log reported that a daily quota is used up. */
export type StreamUpdate = { squidId: number; lastSeq: number; usage: DayVolume; quotaReportedOn: string | null }

/** Adds or updates the rows of versions that have new lines. */
export async function updateStreams(client: ClientBase, streams: StreamUpdate[]): Promise<void> {
  await client.query(
    `insert into log_streams (squid_id, last_seq, indexed_seq, usage_day, usage_bytes, quota_reported_on)
     select squid_id, last_seq, 0, usage_day, usage_bytes, quota_reported_on
     from unnest($1::bigint[], $2::bigint[], $3::date[], $4::bigint[], $5::date[])
       as t (squid_id, last_seq, usage_day, usage_bytes, quota_reported_on)
     on conflict (squid_id) do update set last_seq = excluded.last_seq, usage_day = excluded.usage_day,
       usage_bytes = excluded.usage_bytes, quota_reported_on = excluded.quota_reported_on`,
    [
      streams.map((s) => s.squidId),
      streams.map((s) => s.lastSeq),
      streams.map((s) => s.usage.day),
      streams.map((s) => s.usage.bytes),
      streams.map((s) => s.quotaReportedOn),
    ],
  )
}

/** Returns the dropped lines of all versions that their logs have not reported yet. */
export async function readPendingDrops(client: ClientBase): Promise<PendingDrop[]> {
  const { rows } = await client.query<PendingDrop>(
    `select squid_id as "squidId", lines, is_estimate as "isEstimate",
       case when is_of_org then 'org' || upper(left(exceeded, 1)) || substr(exceeded, 2) else exceeded end as exceeded,
       (extract(epoch from from_at) * 1000)::float8 as "fromMs", (extract(epoch from to_at) * 1000)::float8 as "toMs"
     from log_drops`,
  )
  return rows
}

/** Stores unreported drops, and deletes the drops of all other versions in `squidIds`. */
export async function replacePendingDrops(client: ClientBase, squidIds: number[], drops: PendingDrop[]): Promise<void> {
  await client.query('delete from log_drops where squid_id = any($1)', [squidIds])
  if (drops.length === 0) return
  await client.query(
    `insert into log_drops (squid_id, lines, is_estimate, exceeded, is_of_org, from_at, to_at)
     select squid_id, lines, is_estimate, exceeded, is_of_org, to_timestamp(from_ms / 1000), to_timestamp(to_ms / 1000)
     from unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::text[], $5::boolean[], $6::float8[], $7::float8[])
       as t (squid_id, lines, is_estimate, exceeded, is_of_org, from_ms, to_ms)`,
    [
      drops.map((d) => d.squidId),
      drops.map((d) => d.lines),
      drops.map((d) => d.isEstimate),
      drops.map((d) => storedKinds[d.exceeded] ?? d.exceeded),
      drops.map((d) => d.exceeded in storedKinds),
      drops.map((d) => d.fromMs),
      drops.map((d) => d.toMs),
    ],
  )
}

/** The kinds of limits that are stored under another name, because release 0.1.0 does not support them; the column `is_of_org` marks them. */
const storedKinds: { [kind in LimitKind]?: LimitKind } = {
  orgBytesPerSecond: 'bytesPerSecond',
  orgLinesPerSecond: 'linesPerSecond',
}

/** Inserts all lines with one COPY, which is faster than INSERT. */
export async function copyLines(client: ClientBase, lines: NewLine[]): Promise<void> {
  const copy = client.query(
    copyFrom('copy log_lines (squid_id, seq, at, level, container, ns, message, fields) from stdin'),
  )
  const finished = once(copy, 'finish')
  copy.end(Buffer.from(copyText(lines)))
  await finished
}

/** Formats the lines in the text format of COPY. */
function copyText(lines: NewLine[]): string {
  let text = ''
  let lastAtMs = Number.NaN
  let at = ''
  for (const line of lines) {
    if (line.atMs !== lastAtMs) {
      lastAtMs = line.atMs
      at = new Date(line.atMs).toISOString()
    }
    text += `${line.squidId}\t${line.seq}\t${at}\t${line.level}\t${escapeText(line.container)}\t${escapeText(line.ns)}\t${escapeText(line.message)}\t${escapeText(line.fields)}\n`
  }
  return text
}

const special = /[\\\n\r\t]/
const escapeSequences: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escapeText(text: string | null): string {
  if (text === null) return '\\N'
  return special.test(text)
    ? text.replaceAll(/[\\\n\r\t]/g, (character) => escapeSequences[character] ?? character)
    : text
}

/** Notifies followers in all processes after the commit. Postgres accepts at most 8,000 bytes per notification. */
export async function notifyFollowers(client: ClientBase, squidIds: number[]): Promise<void> {
  const perNotification = 400
  for (let i = 0; i < squidIds.length; i += perNotification)
    await client.query('select pg_notify($1, $2)', [logsChannel, squidIds.slice(i, i + perNotification).join(',')])
}

/** The values of a line from which its block is summarized. `text`: the text that searches match. */
export type LineOfBlock = { atMs: number; level: number; container: string; text: string }

/** Returns the lines of a block, in no particular order. */
export async function readLinesOfBlock(client: ClientBase, squidId: number, block: SeqRange): Promise<LineOfBlock[]> {
  const { rows } = await client.query<LineOfBlock>(
    `select (extract(epoch from at) * 1000)::float8 as "atMs", level, container, ${searchedText} as text
     from log_lines where squid_id = $1 and seq between $2 and $3`,
    [squidId, block.firstSeq, block.lastSeq],
  )
  return rows
}

/** Stores the summary of a block. */
export async function insertBlock(client: ClientBase, squidId: number, block: SeqRange, summary: BlockSummary) {
  await client.query(
    `insert into log_blocks (squid_id, first_seq, last_seq, min_at, max_at, level_mask, containers, bloom)
     values ($1, $2, $3, to_timestamp($4::float8 / 1000), to_timestamp($5::float8 / 1000), $6, $7, $8)`,
    [
      squidId,
      block.firstSeq,
      block.lastSeq,
      summary.minAtMs,
      summary.maxAtMs,
      summary.levelMask,
      summary.containers,
      summary.bloom,
    ],
  )
}

/** Stores the block's summary and marks its lines as indexed. `summary` is null when the lines no longer exist. */
export async function addBlock(client: ClientBase, squidId: number, block: SeqRange, summary: BlockSummary | null) {
  if (summary) await insertBlock(client, squidId, block, summary)
  await client.query('update log_streams set indexed_seq = $2 where squid_id = $1', [squidId, block.lastSeq])
}

/** Drops the days before `day` with all their lines and blocks. */
export async function dropLinesBefore(client: ClientBase, day: string): Promise<void> {
  await dropDayPartitionsBefore(client, 'log_lines', day)
  await client.query(`delete from log_blocks where max_at < ($1::text || ' 00:00Z')::timestamptz`, [day])
}
