// Reads tables of other modules: squids. The last deployment of a version is kept only while the version exists.
import { sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { deleteInBatches } from '../../db/delete-in-batches.ts'
import { deployments } from './tables.ts'

/**
 * Deletes deployments that finished before `at`, with their logs and steps. Keeps the last one of each version that exists, and those
 * whose image is kept for a rollback. Returns the number of deleted deployments.
 */
export async function deleteDeploymentsBefore(db: Db, at: Date): Promise<number> {
  const old = sql`finished_at < ${at.toISOString()}
    and (exists (select from deployments newer where newer.squid_id = deployments.squid_id and newer.id > deployments.id)
      or not exists (select from squids s where s.id = deployments.squid_id))
    and not exists (select from squid_images i where i.squid_id = deployments.squid_id and i.deployment_id = deployments.id)`
  return await deleteInBatches(db, deployments, old, { batchSize: 500 })
}
