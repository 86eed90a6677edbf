import type { Db } from '../../db/database.ts'
import { setLastDeploy, type SquidRow } from '../versions/index.ts'
import type { DeploymentType } from '@shoal/contract'
import { stepsByType } from './plans.ts'
import { insertDeployment, type DeploymentRow, type NewDeployment } from './store.ts'

type NewDeploymentRequest = { type: DeploymentType; userId: number | null; requestKey: string } & Partial<
  Pick<NewDeployment, 'tag' | 'uploadId' | 'manifestPath' | 'sourceDeploymentId' | 'image' | 'isSlotGenerated'>
>

/**
 * Inserts a deployment for a worker to claim, and sets it on the version's row.
 * @throws a unique violation when another one of the version is in progress: the caller checks before, in this transaction
 */
export async function enqueue(
  db: Db,
  at: Date,
  squid: Pick<SquidRow, 'id' | 'orgId' | 'name' | 'slot'>,
  request: NewDeploymentRequest,
): Promise<DeploymentRow> {
  const [first] = stepsByType[request.type]
  const row = await insertDeployment(db, {
    ...request,
    orgId: squid.orgId,
    squidId: squid.id,
    squidName: squid.name,
    squidSlot: squid.slot,
    status: first.status,
    createdAt: at,
    updatedAt: at,
  })
  const { id, type, status, failed } = row
  await setLastDeploy(db, squid.id, { id, type, status, failed, running: true })
  return row
}
