import { escapeIdentifier, type ClientBase } from 'pg'
import { days } from '../clock.ts'
import { inTransaction } from './transaction.ts'

/** The day of a time in UTC, as in `2026-01-31`. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

const partitionOf = (table: string, day: string) => `${table}_${day.replaceAll('-', '')}`

/**
 * Makes the partition of a day of a table that is partitioned by time. Readers and writers of other days are not held up:
 * attaching takes a weak lock only.
 */
export async function ensureDayPartition(client: ClientBase, table: string, day: string): Promise<void> {
  const parent = escapeIdentifier(table)
  const name = escapeIdentifier(partitionOf(table, day))
  const next = dayOf(Date.parse(day) + days(1))
  await inTransaction(client, async () => {
    // A writer and the keeper of days may want the same one at once.
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`shoal:days:${table}`])
    const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [name])
    if (rows[0]?.exists) return
    await client.query(`create table ${name} (like ${parent} including all)`)
    await client.query(
      `alter table ${parent} attach partition ${name} for values from ('${day} 00:00Z') to ('${next} 00:00Z')`,
    )
  })
}

/** Drops the days of the table before `day` with all that is in them. */
export async function dropDayPartitionsBefore(client: ClientBase, table: string, day: string): Promise<void> {
  const { rows } = await client.query<{ name: string; isAttached: boolean; isPending: boolean }>(
    `select relname as name, inhrelid is not null as "isAttached", coalesce(inhdetachpending, false) as "isPending"
     from pg_class left join pg_inherits on inhrelid = pg_class.oid and inhparent = $2::regclass
     where relkind = 'r' and relnamespace = current_schema()::regnamespace
       and relname ~ ('^' || $2 || '_[0-9]{8}$') and relname < $1 order by relname`,
    [partitionOf(table, day), table],
  )
  for (const { name, isAttached, isPending } of rows) {
    const partition = escapeIdentifier(name)
    // Waits for readers instead of stopping them. Pending: a worker was killed in the midst of it.
    if (isAttached)
      await client.query(
        `alter table ${escapeIdentifier(table)} detach partition ${partition} ${isPending ? 'finalize' : 'concurrently'}`,
      )
    await client.query(`drop table ${partition}`)
  }
}
