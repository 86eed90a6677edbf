import type { SlowStatement } from '../../db/slow-statements.ts'
import { redactStatement, slowMs } from '../../db/slow-statements.ts'
import type { Db } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'

type Statistics = { since: Date; list: SlowStatement[] }
type Row = { text: string; calls: string; meanMs: number; maxMs: number }

/**
 * Returns the statements of this database that were slow at least once, from pg_stat_statements; null if the server does not have it.
 * `count`: the maximum number of statements; those with the greatest total time are returned.
 */
export async function readStatistics(db: Db, count: number): Promise<Statistics | null> {
  // The setting exists only where Postgres has loaded the library, and the view only where the extension was created.
  const { rows: found } = await db.execute(
    sql`select 1 from pg_settings where name = 'pg_stat_statements.max' and to_regclass('pg_stat_statements_info') is not null`,
  )
  if (found.length === 0) return null
  const { rows } = await db.execute<Row>(sql`
    select s.query as text, s.calls, s.mean_exec_time as "meanMs", s.max_exec_time as "maxMs" from pg_stat_statements s
    where s.dbid = (select oid from pg_database where datname = current_database()) and s.toplevel
      and s.max_exec_time >= ${slowMs} and s.query not ilike '%password%'
    order by s.total_exec_time desc limit ${count}`)
  const { rows: infos } = await db.execute<{ sinceMs: number }>(
    sql`select (extract(epoch from stats_reset) * 1000)::float8 as "sinceMs" from pg_stat_statements_info`,
  )
  return {
    since: new Date(infos[0]?.sinceMs ?? 0),
    list: rows.flatMap(({ text, calls, meanMs, maxMs }) => {
      const short = redactStatement(text)
      if (short === null) return []
      return [{ text: short, calls: Number(calls), meanMs: Math.round(meanMs), maxMs: Math.round(maxMs) }]
    }),
  }
}
