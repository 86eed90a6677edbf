import type { Db } from '../../db/database.ts'
import { setLastDeploy, type SquidRow } from '../versions/index.ts'
import { displayedTypeOf, type Operation } from './deployment-type.ts'
import { stepsOf } from './plans.ts'
import { insertDeployment, type DeploymentRow, type NewDeployment } from './store.ts'

type NewDeploymentRequest = { type: Operation; userId: number | null; requestKey: string } & Partial<
  Pick<
    NewDeployment,
    'tag' | 'uploadId' | 'manifestPath' | 'sourceDeploymentId' | 'isRedeploy' | 'image' | 'isSlotGenerated' | 'notes'
  >
>

/**
 * Inserts a deployment for a worker to claim, and sets it as the last deployment on the version's row. The caller must have checked, in
 * this transaction, that no deployment of the version is in progress.
 * @throws Error (a unique violation) if one is in progress
 */
export async function enqueue(
  db: Db,
  at: Date,
  squid: Pick<SquidRow, 'id' | 'orgId' | 'name' | 'slot'>,
  request: NewDeploymentRequest,
): Promise<DeploymentRow> {
  const [firstStep] = stepsOf({ type: request.type, notes: request.notes ?? {} })
  const row = await insertDeployment(db, {
    ...request,
    orgId: squid.orgId,
    squidId: squid.id,
    squidName: squid.name,
    squidSlot: squid.slot,
    status: firstStep.status,
    createdAt: at,
    updatedAt: at,
  })
  const { id, status, failed } = row
  await setLastDeploy(db, squid.id, { id, type: displayedTypeOf(row), status, failed, running: true })
  return row
}
