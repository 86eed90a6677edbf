import { once } from 'node:events'
import type { ClientBase } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { logsChannel, searchedText, type SeqRange } from '../lines-store.ts'
import type { BlockSummary } from './blocks.ts'

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

export type StreamState = { squidId: number; lastSeq: number; indexedSeq: number }

export async function readCursor(client: ClientBase): Promise<Record<string, string>> {
  const { rows } = await client.query<{ source: string; position: string }>('select source, position from log_cursors')
  return Object.fromEntries(rows.map((row) => [row.source, row.position]))
}

/** Merges into the stored cursor; an empty position removes its source. */
export async function moveCursor(client: ClientBase, changes: Record<string, string>): Promise<void> {
  const moved = Object.entries(changes).filter(([, position]) => position !== '')
  const removed = Object.keys(changes).filter((source) => changes[source] === '')
  if (moved.length > 0)
    await client.query(
      `insert into log_cursors (source, position) select * from unnest($1::text[], $2::text[])
       on conflict (source) do update set position = excluded.position`,
      [moved.map(([source]) => source), moved.map(([, position]) => position)],
    )
  if (removed.length > 0) await client.query('delete from log_cursors where source = any($1)', [removed])
}

export async function readStreams(client: ClientBase, squidIds: number[]): Promise<StreamState[]> {
  const { rows } = await client.query<StreamState>(
    'select squid_id as "squidId", last_seq as "lastSeq", indexed_seq as "indexedSeq" from log_streams where squid_id = any($1)',
    [squidIds],
  )
  return rows
}

/** Versions with at least `lines` lines that are not in a block yet. */
export async function findUnindexed(client: ClientBase, lines: number): Promise<StreamState[]> {
  const { rows } = await client.query<StreamState>(
    `select squid_id as "squidId", last_seq as "lastSeq", indexed_seq as "indexedSeq" from log_streams
     where last_seq - indexed_seq >= $1`,
    [lines],
  )
  return rows
}

export async function moveStreams(client: ClientBase, streams: { squidId: number; lastSeq: number }[]): Promise<void> {
  await client.query(
    `insert into log_streams (squid_id, last_seq, indexed_seq)
     select squid_id, last_seq, 0 from unnest($1::bigint[], $2::bigint[]) as t (squid_id, last_seq)
     on conflict (squid_id) do update set last_seq = excluded.last_seq`,
    [streams.map((s) => s.squidId), streams.map((s) => s.lastSeq)],
  )
}

/** One COPY for all lines, the fastest way. */
export async function copyLines(client: ClientBase, lines: NewLine[]): Promise<void> {
  const copy = client.query(
    copyFrom('copy log_lines (squid_id, seq, at, level, container, ns, message, fields) from stdin'),
  )
  const finished = once(copy, 'finish')
  copy.end(Buffer.from(copyText(lines)))
  await finished
}

/** The text format of COPY. */
function copyText(lines: NewLine[]): string {
  let text = ''
  let lastAtMs = Number.NaN
  let at = ''
  for (const line of lines) {
    if (line.atMs !== lastAtMs) {
      lastAtMs = line.atMs
      at = new Date(line.atMs).toISOString()
    }
    text += `${line.squidId}\t${line.seq}\t${at}\t${line.level}\t${escaped(line.container)}\t${escaped(line.ns)}\t${escaped(line.message)}\t${escaped(line.fields)}\n`
  }
  return text
}

const special = /[\\\n\r\t]/
const escapes: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escaped(text: string | null): string {
  if (text === null) return '\\N'
  return special.test(text) ? text.replaceAll(/[\\\n\r\t]/g, (character) => escapes[character] ?? character) : text
}

/** Wakes followers in all processes after the commit. Postgres accepts at most 8,000 bytes per notification. */
export async function notifyFollowers(client: ClientBase, squidIds: number[]): Promise<void> {
  const perNotification = 400
  for (let i = 0; i < squidIds.length; i += perNotification)
    await client.query('select pg_notify($1, $2)', [logsChannel, squidIds.slice(i, i + perNotification).join(',')])
}

export type LineOfBlock = { atMs: number; level: number; container: string; text: string }

export async function readLinesOfBlock(client: ClientBase, squidId: number, block: SeqRange): Promise<LineOfBlock[]> {
  const { rows } = await client.query<LineOfBlock>(
    `select (extract(epoch from at) * 1000)::float8 as "atMs", level, container, ${searchedText} as text
     from log_lines where squid_id = $1 and seq between $2 and $3`,
    [squidId, block.firstSeq, block.lastSeq],
  )
  return rows
}

/** Marks the lines of the block as indexed; without a summary they no longer exist. */
export async function addBlock(client: ClientBase, squidId: number, block: SeqRange, summary: BlockSummary | null) {
  if (summary)
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
  await client.query('update log_streams set indexed_seq = $2 where squid_id = $1', [squidId, block.lastSeq])
}
