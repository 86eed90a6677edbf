import type { App } from '../../app.ts'
import { selectSquid } from '../versions/index.ts'
import { enqueue } from './enqueue.ts'
import { lockOrg } from '../orgs/index.ts'
import { selectUnfinishedOf } from './store.ts'

/**
 * Hibernates or restarts a version on behalf of the installation, as billing does. Returns `busy` while a deployment of it is in
 * progress: try again later.
 */
export async function systemAction(
  app: Pick<App, 'db' | 'clock'>,
  squidId: number,
  type: 'HIBERNATE' | 'RESTART',
  reason: string,
): Promise<'started' | 'busy' | 'nothing to do'> {
  return await app.db.transaction(async (tx) => {
    const found = await selectSquid(tx, squidId)
    if (found) await lockOrg(tx, found.orgId)
    const squid = await selectSquid(tx, squidId)
    if (!squid || squid.wanted === 'deleted' || squid.image === null) return 'nothing to do'
    if (await selectUnfinishedOf(tx, squidId)) return 'busy'
    const isDone = type === 'HIBERNATE' ? squid.wanted === 'hibernated' : squid.wanted === 'running'
    if (isDone) return 'nothing to do'
    const at = app.clock.now()
    const image = type === 'RESTART' ? squid.image : null
    await enqueue(tx, at, squid, { type, userId: null, requestKey: `${reason} ${squidId} ${at.getTime()}`, image })
    return 'started'
  })
}
