import type { Db } from '../../../db/database.ts'
import { readVersionDetails, type AlertFacts } from '../../observing/index.ts'
import { squidStatusOf } from '../../squids/index.ts'
import { mapInSlices } from '../../../collections/slices.ts'
import { listAlertSubjectRows } from './alert-subjects-store.ts'

/** A version with the facts that rules check. */
export type AlertSubject = {
  id: number
  orgId: number
  name: string
  slot: string
  /** True while the version is being deleted: its alerts end, and no new ones open. */
  isDeleting: boolean
  facts: AlertFacts
}

/** Reads all versions. The number of queries does not depend on the number of versions. */
export async function readAlertSubjects(db: Db): Promise<AlertSubject[]> {
  const rows = await listAlertSubjectRows(db)
  const detailsOf = await readVersionDetails(db, 'all')
  return await mapInSlices(rows, (row) => {
    const { database, containers, processors: processorMetrics, apis, hasura } = detailsOf(row.id)
    return {
      id: row.id,
      orgId: row.orgId,
      name: row.name,
      slot: row.slot,
      isDeleting:
        row.desiredState === 'deleted' || (row.lastDeploy?.running === true && row.lastDeploy.type === 'DELETE'),
      facts: {
        status: squidStatusOf(row),
        image: row.image,
        lastDeploy: row.lastDeploy,
        apiReplicas: row.apiReplicas,
        hasuraReplicas: row.hasuraReplicas,
        processors: row.processors,
        database,
        containers,
        processorMetrics,
        apis,
        hasura,
      },
    }
  })
}
