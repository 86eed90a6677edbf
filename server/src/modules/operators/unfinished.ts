import type { Contract, PayloadInputOf } from '@shoal/contract'
import type { App } from '../../app.ts'
import { listReplicas, type Replica } from '../../installation/replicas-store.ts'
import { isAlive } from './replicas.ts'
import { listUnfinishedRows, type UnfinishedRow } from './unfinished-store.ts'

type UnfinishedDeployments = PayloadInputOf<Contract['operators']['listDeployments']>

/** Returns the deployments that have not ended, each with the reason why it waits. */
export async function listUnfinishedDeployments(app: Pick<App, 'db'>): Promise<UnfinishedDeployments> {
  const [rows, replicas] = await Promise.all([listUnfinishedRows(app.db), listReplicas(app.db)])
  return {
    deployments: rows.map((row) => ({
      id: row.id,
      organization: { code: row.orgCode, name: row.orgName },
      reference: `${row.name}@${row.slot}`,
      type: row.type,
      step: row.status,
      stepStartedAt: row.stepStartedMs === null ? null : new Date(row.stepStartedMs),
      createdAt: new Date(row.createdMs),
      worker: row.worker,
      waitsFor: waitsFor(row, replicas),
    })),
  }
}

/** Returns why a deployment waits; null while it is running. */
export function waitsFor(
  { worker, status, hasLeftQueue }: Pick<UnfinishedRow, 'worker' | 'status' | 'hasLeftQueue'>,
  replicas: Pick<Replica, 'name' | 'silentMs' | 'report'>[],
): string | null {
  const workers = replicas.filter((replica) => isAlive(replica) && replica.report.worker === 'active')
  if (workers.length === 0) return 'No worker is active.'
  if (worker === null)
    return 'No worker has claimed it yet: another deployment of the version may be running, or the worker runs its maximum number of deployments.'
  if (!workers.some(({ name }) => name === worker))
    return `Its worker, ${worker}, is no longer active; another worker continues it.`
  return status === 'IMAGE_BUILDING' && !hasLeftQueue ? 'It waits for its turn to build.' : null
}
