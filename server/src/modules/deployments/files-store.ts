import { and, desc, eq, lt, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { deploymentFiles, deployments } from './tables.ts'

/** Stores the gzipped list of files. A resumed deployment stores it again. */
export async function saveFiles(db: Db, deploymentId: number, content: Buffer): Promise<void> {
  await db
    .insert(deploymentFiles)
    .values({ deploymentId, content })
    .onConflictDoUpdate({ target: deploymentFiles.deploymentId, set: { content } })
}

/**
 * Returns the gzipped list of files of a deployment; null if the organization has no such deployment. `content` is null if no list is
 * recorded. A rollback has the files of the deployment that it restored.
 */
export async function selectFiles(
  db: Db,
  orgId: number,
  id: number,
): Promise<{ squidId: number; content: Buffer | null } | null> {
  const [row] = await db
    .select({ squidId: deployments.squidId, content: deploymentFiles.content })
    .from(deployments)
    .leftJoin(
      deploymentFiles,
      eq(deploymentFiles.deploymentId, sql`coalesce(${deployments.sourceDeploymentId}, ${deployments.id})`),
    )
    .where(and(eq(deployments.orgId, orgId), eq(deployments.id, id)))
  return row ?? null
}

/** Returns the id of the last successful deployment of the version before `id` whose files are recorded; null if there is none. */
export async function selectDeploymentBefore(db: Db, squidId: number, id: number): Promise<number | null> {
  const [row] = await db
    .select({ id: deployments.id })
    .from(deployments)
    .innerJoin(
      deploymentFiles,
      eq(deploymentFiles.deploymentId, sql`coalesce(${deployments.sourceDeploymentId}, ${deployments.id})`),
    )
    .where(
      and(
        eq(deployments.squidId, squidId),
        lt(deployments.id, id),
        eq(deployments.failed, 'NO'),
        eq(deployments.status, 'OK'),
      ),
    )
    .orderBy(desc(deployments.id))
    .limit(1)
  return row?.id ?? null
}
