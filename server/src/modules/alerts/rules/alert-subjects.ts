import type { Db } from '../../../db/database.ts'
import { readParts, type AlertFacts } from '../../observing/index.ts'
import { squidStatusOf } from '../../squids/index.ts'
import { listWatchedRows } from './alert-subjects-store.ts'

/** A version with the facts that rules check. */
export type AlertSubject = {
  id: number
  orgId: number
  name: string
  slot: string
  /** Its alerts end, and no new ones open. */
  isDeleting: boolean
  subject: AlertFacts
}

/** Reads all versions. The number of queries does not depend on the number of versions. */
export async function readAlertSubjects(db: Db): Promise<AlertSubject[]> {
  const rows = await listWatchedRows(db)
  const partsOf = await readParts(db, { squidIds: rows.map((row) => row.id) })
  return rows.map((row) => {
    const { database, containers, processors: seen, apis } = partsOf(row.id)
    return {
      id: row.id,
      orgId: row.orgId,
      name: row.name,
      slot: row.slot,
      isDeleting: row.wanted === 'deleted' || (row.lastDeploy?.running === true && row.lastDeploy.type === 'DELETE'),
      subject: {
        status: squidStatusOf(row),
        image: row.image,
        lastDeploy: row.lastDeploy,
        apiReplicas: row.apiReplicas,
        processors: row.processors,
        database,
        containers,
        seen,
        apis,
      },
    }
  })
}
