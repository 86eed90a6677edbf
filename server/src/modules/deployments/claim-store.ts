import type { DeploymentStatus } from '@shoal/contract'
import { replicaName } from '../../installation/replica-name.ts'
import { and, eq, isNotNull, isNull, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import type { DeploymentRow, NewDeployment } from './store.ts'
import { deployments, deploymentSteps, type DeploymentNotes } from './tables.ts'

/** Thrown when another worker has claimed the deployment; the worker that catches it must stop its work on the deployment. */
export class SupersededError extends Error {
  override name = 'Superseded'
}

/** Claims the deployment, so that writes of an earlier worker are rejected. Returns null when the deployment has ended. */
export async function claim(db: Db, id: number): Promise<DeploymentRow | null> {
  const [row] = await db
    .update(deployments)
    .set({ attempt: sql`${deployments.attempt} + 1`, worker: replicaName })
    .where(and(eq(deployments.id, id), isNull(deployments.finishedAt)))
    .returning()
  return row ?? null
}

type ClaimedDeployment = Pick<DeploymentRow, 'id' | 'attempt'>

const isStillClaimed = ({ id, attempt }: ClaimedDeployment) =>
  and(eq(deployments.id, id), eq(deployments.attempt, attempt), isNull(deployments.finishedAt))

const superseded = ({ id }: ClaimedDeployment) => new SupersededError(`Deployment ${id} was claimed by another worker`)

/** Changes the row of a deployment that this worker has claimed, and returns the new row. @throws SupersededError */
export async function updateClaimed(
  db: Db,
  claimed: ClaimedDeployment,
  change: Partial<NewDeployment>,
): Promise<DeploymentRow> {
  const [row] = await db.update(deployments).set(change).where(isStillClaimed(claimed)).returning()
  if (!row) throw superseded(claimed)
  return row
}

/**
 * Locks the claimed deployment until the transaction ends. Another worker that claims it waits until then, or up to a minute if this
 * worker disappears.
 * @throws SupersededError
 */
export async function lockClaimed(tx: Db, claimed: ClaimedDeployment): Promise<void> {
  await tx.execute(sql`set local idle_in_transaction_session_timeout = '60s'`)
  const [row] = await tx
    .select({ id: deployments.id })
    .from(deployments)
    .where(isStillClaimed(claimed))
    .for('no key update')
  if (!row) throw superseded(claimed)
}

/** Merges the notes into those on the row. @throws SupersededError */
export function addNotes(db: Db, claimed: ClaimedDeployment, notes: DeploymentNotes, at: Date): Promise<DeploymentRow> {
  return updateClaimed(db, claimed, {
    notes: sql`${deployments.notes} || ${JSON.stringify(notes)}::jsonb` as unknown as DeploymentNotes,
    updatedAt: at,
  })
}

/** Records the start of a step. The transaction must hold the claim on the deployment. */
export async function beginStep(
  tx: Db,
  step: { deploymentId: number; seq: number; status: DeploymentStatus; startedAt: Date },
): Promise<void> {
  await tx.insert(deploymentSteps).values(step).onConflictDoNothing()
}

/** Records the end of a step. The transaction must hold the claim on the deployment. */
export async function endStep(tx: Db, deploymentId: number, seq: number, finishedAt: Date): Promise<void> {
  await tx
    .update(deploymentSteps)
    .set({ finishedAt })
    .where(and(eq(deploymentSteps.deploymentId, deploymentId), eq(deploymentSteps.seq, seq)))
}

/** Returns the numbers of the finished steps. */
export async function finishedSteps(db: Db, deploymentId: number): Promise<Set<number>> {
  const rows = await db
    .select({ seq: deploymentSteps.seq })
    .from(deploymentSteps)
    .where(and(eq(deploymentSteps.deploymentId, deploymentId), isNotNull(deploymentSteps.finishedAt)))
  return new Set(rows.map((row) => row.seq))
}
