import { escapeIdentifier, type ClientBase } from 'pg'
import { days } from '../../../clock.ts'
import { inTransaction } from './ingest-store.ts'

/** The day of a time in UTC, as in `2026-01-31`. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

const partitionOf = (day: string) => `log_lines_${day.replaceAll('-', '')}`

/** Makes the partition of a day. Readers and writers of other days are not held up: attaching takes a weak lock only. */
export async function ensureDay(client: ClientBase, day: string): Promise<void> {
  const name = escapeIdentifier(partitionOf(day))
  const next = dayOf(Date.parse(day) + days(1))
  await inTransaction(client, async () => {
    // The writer and the keeper of days may want the same one at once.
    await client.query(`select pg_advisory_xact_lock(hashtextextended('shoal:log-days', 0))`)
    const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [name])
    if (rows[0]?.exists) return
    await client.query(`create table ${name} (like log_lines including all)`)
    await client.query(
      `alter table log_lines attach partition ${name} for values from ('${day} 00:00Z') to ('${next} 00:00Z')`,
    )
  })
}

/** Drops the days before `day` with all their lines, and what pointed at them. */
export async function dropDaysBefore(client: ClientBase, day: string): Promise<void> {
  const { rows } = await client.query<{ name: string; isAttached: boolean; isPending: boolean }>(
    `select relname as name, inhrelid is not null as "isAttached", coalesce(inhdetachpending, false) as "isPending"
     from pg_class left join pg_inherits on inhrelid = pg_class.oid and inhparent = 'log_lines'::regclass
     where relkind = 'r' and relnamespace = current_schema()::regnamespace
       and relname ~ '^log_lines_[0-9]{8}$' and relname < $1 order by relname`,
    [partitionOf(day)],
  )
  for (const { name, isAttached, isPending } of rows) {
    const partition = escapeIdentifier(name)
    // Waits for readers instead of stopping them. Pending: a worker was killed in the midst of it.
    if (isAttached)
      await client.query(
        `alter table log_lines detach partition ${partition} ${isPending ? 'finalize' : 'concurrently'}`,
      )
    await client.query(`drop table ${partition}`)
  }
  await client.query(`delete from log_blocks where max_at < ($1::text || ' 00:00Z')::timestamptz`, [day])
}

/** Forgets versions that were deleted; their lines go with their days. */
export async function forgetDeletedSquids(client: ClientBase): Promise<void> {
  await client.query('delete from log_blocks b where not exists (select from squids s where s.id = b.squid_id)')
  await client.query('delete from log_streams l where not exists (select from squids s where s.id = l.squid_id)')
}
