import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { selectSquid } from '../versions/index.ts'
import { enqueue } from './enqueue.ts'
import { listDeletedOrgs, listDeletable, removeOrg, selectUnfinishedOf } from './store.ts'

const retryAfterMs = minutes(1)

/** Deletes the versions of deleted organizations, then their rows. */
export async function removeDeletedOrgs(app: App): Promise<void> {
  const since = new Date(app.clock.now().getTime() - retryAfterMs)
  for (const org of await listDeletedOrgs(app.db)) {
    for (const squidId of await listDeletable(app.db, org.id, since))
      await app.db.transaction(async (tx) => {
        const squid = await selectSquid(tx, squidId)
        if (squid && !(await selectUnfinishedOf(tx, squidId)))
          await enqueue(tx, app.clock.now(), squid, {
            type: 'DELETE',
            userId: null,
            requestKey: `org ${org.id} deleted`,
          })
      })
    if (org.squids === 0) await removeOrg(app.db, org.id)
  }
}
