import type { App } from '../../../app.ts'
import { systemAction } from '../../deployments/index.ts'
import { deleteHibernation, listHibernations } from './hibernation-store.ts'

/** Brings versions to what billing wants of them; what is busy is asked again at the next turn. */
export async function applyHibernations(app: App): Promise<void> {
  for (const row of await listHibernations(app.db)) {
    const type = row.isWaking ? 'RESTART' : 'HIBERNATE'
    const outcome = await systemAction(app, row.squidId, type, `billing ${row.reason}`)
    if (row.isWaking && outcome !== 'busy') await deleteHibernation(app.db, row.squidId)
  }
}
