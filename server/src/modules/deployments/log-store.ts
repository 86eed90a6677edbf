import { and, asc, eq, gte, max, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { deploymentLogs } from './tables.ts'

export type LogRow = typeof deploymentLogs.$inferSelect

/** Returns the number of the next line; 0 for an empty log. */
export async function nextLogSeq(db: Db, deploymentId: number): Promise<number> {
  const [row] = await db
    .select({ last: max(deploymentLogs.seq) })
    .from(deploymentLogs)
    .where(eq(deploymentLogs.deploymentId, deploymentId))
  return (row?.last ?? -1) + 1
}

/** Adds lines to the log of a deployment. @throws Error when another worker has written lines with these numbers */
export async function appendLogs(db: Db, rows: LogRow[]): Promise<void> {
  await db.insert(deploymentLogs).values(rows)
}

/** Returns the lines from number `after` on. Lines are numbered from 0 without gaps. */
export function listLogs(db: Db, deploymentId: number, after = 0): Promise<LogRow[]> {
  return db
    .select()
    .from(deploymentLogs)
    .where(and(eq(deploymentLogs.deploymentId, deploymentId), gte(deploymentLogs.seq, after)))
    .orderBy(asc(deploymentLogs.seq))
}

/** Returns the last `limit` lines of each deployment, ordered by deployment and line. */
export async function listLastLogs(db: Db, deploymentIds: number[], limit: number) {
  if (deploymentIds.length === 0) return []
  const { rows } = await db.execute<{
    deploymentId: number
    severity: LogRow['severity']
    message: string
    atMs: number
  }>(
    sql`select d.id as "deploymentId", l.severity, l.message, (extract(epoch from l.at) * 1000)::float8 as "atMs"
      from unnest(${sql.param(deploymentIds)}::int8[]) as d(id)
      cross join lateral (
        select * from deployment_logs where deployment_id = d.id order by seq desc limit ${limit}
      ) l order by d.id, l.seq`,
  )
  return rows.map(({ atMs, ...row }) => ({ ...row, at: new Date(atMs) }))
}
