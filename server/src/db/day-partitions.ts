import { escapeIdentifier, type ClientBase } from 'pg'
import { dayOf, days } from '../clock.ts'
import { inTransaction } from './transaction.ts'

const partitionOf = (table: string, day: string) => `${table}_${day.replaceAll('-', '')}`

/**
 * Creates the partition of a day (`2026-01-31`) of a table that is partitioned by time, if it does not exist. Does not block
 * readers and writers of other days, since attaching acquires only a weak lock.
 */
export async function ensureDayPartition(client: ClientBase, table: string, day: string): Promise<void> {
  const parent = escapeIdentifier(table)
  const name = escapeIdentifier(partitionOf(table, day))
  const nextDay = dayOf(Date.parse(day) + days(1))
  await inTransaction(client, async () => {
    // A writer and the retention task may create the same partition concurrently.
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`shoal:days:${table}`])
    const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [name])
    if (rows[0]?.exists) return
    await client.query(`create table ${name} (like ${parent} including all)`)
    await client.query(
      `alter table ${parent} attach partition ${name} for values from ('${day} 00:00Z') to ('${nextDay} 00:00Z')`,
    )
  })
}

/** Drops the partitions of the table that are older than `day` (`2026-01-31`), with their rows. */
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
    // DETACH CONCURRENTLY waits for readers instead of blocking them. It is pending if a worker was killed during it.
    if (isAttached)
      await client.query(
        `alter table ${escapeIdentifier(table)} detach partition ${partition} ${isPending ? 'finalize' : 'concurrently'}`,
      )
    await client.query(`drop table ${partition}`)
  }
}
