import type { ClientBase } from 'pg'
import { dropDayPartitionsBefore } from '../../../db/day-partitions.ts'
import { inTransaction } from '../../../db/transaction.ts'
import type { NewLine } from '../ingest/ingest-store.ts'
import { atMs, type SeqRange } from '../lines-store.ts'

/** Returns the versions that have lines. */
export async function readLoggingSquids(client: ClientBase): Promise<number[]> {
  const { rows } = await client.query<{ squidId: number }>(
    'select squid_id as "squidId" from log_streams order by squid_id desc',
  )
  return rows.map(({ squidId }) => squidId)
}

/** Returns the blocks of a version, newest first. */
export async function readBlockRanges(client: ClientBase, squidId: number): Promise<SeqRange[]> {
  const { rows } = await client.query<SeqRange>(
    'select first_seq as "firstSeq", last_seq as "lastSeq" from log_blocks where squid_id = $1 order by first_seq desc',
    [squidId],
  )
  return rows
}

/** Returns the lines of the ranges, in order of arrival. */
export async function readLinesOf(client: ClientBase, squidId: number, ranges: SeqRange[]): Promise<NewLine[]> {
  const { rows } = await client.query<NewLine>(
    `select squid_id as "squidId", seq, ${atMs} as "atMs", level, container, ns, message, fields
     from unnest($2::bigint[], $3::bigint[]) as range (first, last) join log_lines on seq between first and last
     where squid_id = $1 order by seq`,
    [squidId, ranges.map(({ firstSeq }) => firstSeq), ranges.map(({ lastSeq }) => lastSeq)],
  )
  return rows
}

/**
 * Deletes the blocks of a version and its row, in one transaction: until then, the database has the version's whole history up to its
 * last line. `deleteMoved` drops the lines of all versions, which is faster.
 */
export async function deleteVersion(client: ClientBase, squidId: number): Promise<void> {
  await inTransaction(client, async () => {
    await client.query('delete from log_streams where squid_id = $1', [squidId])
    await client.query('delete from log_blocks where squid_id = $1', [squidId])
  })
}

/** Drops the lines of all days, and deletes all other rows that were moved. */
export async function deleteMoved(client: ClientBase): Promise<void> {
  await dropDayPartitionsBefore(client, 'log_lines', '9999-12-31')
  for (const table of ['log_blocks', 'log_cursors', 'log_org_usage', 'log_drops', 'log_notices'])
    await client.query(`delete from ${table}`)
}
