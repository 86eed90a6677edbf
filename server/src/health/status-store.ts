// Reads tables of other modules: container_states, deployments, orgs, squids, users. Counts the rows of the installation.

import { sql } from '../db/sql.ts'
import type { Db } from '../db/database.ts'

/** Counts the users, organizations, squids, deployments and containers of the installation, by state. */
export async function countInstallation(db: Db): Promise<Record<string, number>> {
  const { rows } = await db.execute<Record<string, number>>(sql`
    select
      (select count(*) from users) as users,
      (select count(*) from orgs where not is_playground and deleted_at is null) as organizations,
      (select count(*) from squids where desired_state = 'running') as "squidsRunning",
      (select count(*) from squids where desired_state = 'hibernated') as "squidsHibernated",
      (select count(*) from deployments where finished_at is null) as "deploymentsInProgress",
      (select count(*) from container_states where state = 'running') as "containersRunning",
      (select count(*) from container_states where state in ('backoff', 'failed')) as "containersFailing"`)
  return rows[0] ?? {}
}
