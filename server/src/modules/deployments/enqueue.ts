import type { Db } from '../../db/database.ts'
import { setLastDeploy, type SquidRow } from '../versions/index.ts'
import { stepsByType, type RunnableType } from './plans.ts'
import { insertDeployment, type DeploymentRow, type NewDeployment } from './store.ts'

type NewDeploymentRequest = { type: RunnableType; userId: number | null; requestKey: string } & Partial<
  Pick<
    NewDeployment,
    'tag' | 'isHardReset' | 'uploadId' | 'manifestPath' | 'sourceDeploymentId' | 'image' | 'isSlotGenerated'
  >
>

/**
 * Adds a deployment for a worker to take up, and says so on the version's row.
 * @throws a unique violation when another one of the version is in progress: the caller has looked, in this transaction
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
