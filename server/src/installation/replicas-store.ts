import type { Db } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { ReplicaReport } from './replica-report.ts'

export type Replica = {
  id: string
  name: string
  report: ReplicaReport
  startedAt: Date
  seenAt: Date
  /** Milliseconds since its last heartbeat, by the database's clock. */
  silentMs: number
}

/** Rows without a heartbeat for this long are deleted. */
const deletedAfterMinutes = 60

/** Records a heartbeat with the database's clock, because the clocks of hosts may differ. `forMs`: how long the process has run. */
export async function recordHeartbeat(
  db: Db,
  { id, name, forMs, report }: { id: string; name: string; forMs: number; report: ReplicaReport },
): Promise<void> {
  await db.execute(sql`
    insert into replicas (id, name, report, started_at, seen_at)
    values (${id}, ${name}, ${JSON.stringify(report)}::jsonb, now() - make_interval(secs => ${forMs / 1000}), now())
    on conflict (id) do update set report = excluded.report, seen_at = excluded.seen_at`)
  await db.execute(sql`delete from replicas where seen_at < now() - make_interval(mins => ${deletedAfterMinutes})`)
}

/**
 * Deletes the rows of processes that this process has replaced: those on the same host with the same roles whose last heartbeat was before
 * this process started. Call it only after processes that still run have had the time for a heartbeat.
 */
export async function deletePredecessors(db: Db, id: string): Promise<void> {
  await db.execute(sql`
    delete from replicas old using replicas new where new.id = ${id} and old.id <> new.id and old.seen_at < new.started_at
      and split_part(old.name, '/', 1) = split_part(new.name, '/', 1) and old.report -> 'roles' = new.report -> 'roles'`)
}

export async function deleteReplica(db: Db, id: string): Promise<void> {
  await db.execute(sql`delete from replicas where id = ${id}`)
}

/** Returns all processes with a heartbeat within the last hour, by name. */
export async function listReplicas(db: Db): Promise<Replica[]> {
  const { rows } = await db.execute<Replica & { startedAt: string | Date; seenAt: string | Date }>(sql`
    select id, name, report, started_at as "startedAt", seen_at as "seenAt",
      (extract(epoch from now() - seen_at) * 1000)::float8 as "silentMs" from replicas order by name`)
  return rows.map((row) => ({ ...row, startedAt: new Date(row.startedAt), seenAt: new Date(row.seenAt) }))
}
