import type { App } from '../../app.ts'
import { selectSquid } from '../versions/index.ts'
import { lockOrg } from '../orgs/index.ts'
import { enqueue } from './enqueue.ts'
import { otherOrgRefusal } from './one-org.ts'
import { selectUnfinished } from './store.ts'

/**
 * Hibernates or restarts a version on behalf of the installation, for example for billing. Returns `busy` while a deployment of the version
 * is in progress or, for a restart, while its organization is suspended; the caller must then try again later. Returns `nothing to do`
 * if the version is in the requested state already, cannot run, or may not be restarted because of `otherOrgRefusal`.
 */
export async function systemAction(
  app: Pick<App, 'db' | 'clock'>,
  squidId: number,
  type: 'HIBERNATE' | 'RESTART',
  reason: string,
): Promise<'started' | 'busy' | 'nothing to do'> {
  return await app.db.transaction(async (tx) => {
    const found = await selectSquid(tx, squidId)
    const org = found && (await lockOrg(tx, found.orgId))
    const squid = await selectSquid(tx, squidId)
    if (!squid || squid.desiredState === 'deleted' || squid.image === null) return 'nothing to do'
    if (await selectUnfinished(tx, squidId)) return 'busy'
    const isDone = type === 'HIBERNATE' ? squid.desiredState === 'hibernated' : squid.desiredState === 'running'
    if (isDone) return 'nothing to do'
    // The version starts when the suspension ends.
    if (type === 'RESTART' && org?.suspendedAt) return 'busy'
    if (type === 'RESTART' && (await otherOrgRefusal(tx, squid.orgId))) return 'nothing to do'
    const at = app.clock.now()
    const image = type === 'RESTART' ? squid.image : null
    await enqueue(tx, at, squid, { type, userId: null, requestKey: `${reason} ${squidId} ${at.getTime()}`, image })
    return 'started'
  })
}
