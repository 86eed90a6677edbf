// Reads tables of other modules: certificates, deployments, deployment_steps, orgs. Operators see the whole installation.

import type { DeploymentStatus, DeploymentType } from '@shoal/contract'
import type { Db } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'

export type UnfinishedRow = {
  id: number
  orgCode: string
  orgName: string | null
  name: string
  slot: string
  type: DeploymentType
  status: DeploymentStatus
  /** The process that runs it; null before a worker has claimed it. */
  worker: string | null
  /** Whether the step has left its queue; false for steps without a queue. */
  hasLeftQueue: boolean
  createdMs: number
  stepStartedMs: number | null
}

/** Returns the deployments of all organizations that have not ended, the oldest first. */
export async function listUnfinishedRows(db: Db): Promise<UnfinishedRow[]> {
  const { rows } = await db.execute<UnfinishedRow>(sql`
    select d.id, o.code as "orgCode", o.name as "orgName", d.squid_name as name, d.squid_slot as slot,
      case when d.is_redeploy then 'REDEPLOY' else d.type end as type, d.status, d.worker,
      coalesce(d.notes ->> 'leftQueue' = d.status, false) as "hasLeftQueue",
      (extract(epoch from d.created_at) * 1000)::float8 as "createdMs",
      (select (extract(epoch from s.started_at) * 1000)::float8 from deployment_steps s
        where s.deployment_id = d.id and s.finished_at is null order by s.seq desc limit 1) as "stepStartedMs"
    from deployments d join orgs o on o.id = d.org_id where d.finished_at is null order by d.id`)
  return rows
}

export type MaintainedCertificate = {
  name: string
  validUntilMs: number | null
  failures: number
  lastError: string | null
}

/** Returns the names for which the installation maintains certificates, names without a certificate first, then by expiry. */
export async function listCertificates(db: Db): Promise<MaintainedCertificate[]> {
  const { rows } = await db.execute<MaintainedCertificate>(sql`
    select name, (extract(epoch from not_after) * 1000)::float8 as "validUntilMs", failures, last_error as "lastError"
    from certificates order by not_after nulls first, name`)
  return rows
}
