// Reads tables of other modules: squids. Counts the programs of versions that have a database.

import { sql } from 'drizzle-orm'
import type { Database, Db } from '../../db/database.ts'

/** The connections of the Postgres with the databases of squids: `max` for roles other than superusers, and `open` now. */
export async function clusterConnections(cluster: Database): Promise<{ max: number; open: number }> {
  const { rows } = await cluster.pool.query<{ max: number; open: number }>(
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as max,
       (select count(*) from pg_stat_activity where backend_type = 'client backend') as open`,
  )
  if (!rows[0]) throw new Error('Postgres answered nothing')
  return rows[0]
}

/** The number of programs whose desired state is running and that have a database, without those of one version. */
export async function programsWithDatabase(
  db: Db,
  exceptSquidId: number,
): Promise<{ apiReplicas: number; processors: number }> {
  const { rows } = await db.execute<{ apiReplicas: number; processors: number }>(
    sql`select coalesce(sum(s.api_replicas), 0)::int as "apiReplicas",
        coalesce(sum(jsonb_array_length(s.processors)), 0)::int as processors
      from squids s join squid_databases d on d.squid_id = s.id
      where s.sealed_workload is not null and s.id <> ${exceptSquidId}`,
  )
  return rows[0] ?? { apiReplicas: 0, processors: 0 }
}
