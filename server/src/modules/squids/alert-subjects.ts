import type { Db } from '../../db/database.ts'
import type { AlertFacts } from './findings.ts'
import { selectParts } from './present-store.ts'
import { squidStatusOf } from './status.ts'
import { listWatchedRows } from './alert-subjects-store.ts'

/** A version with all that findings are made of. */
export type AlertSubject = {
  id: number
  orgId: number
  name: string
  slot: string
  /** Nothing about it matters any more. */
  isDeleting: boolean
  subject: AlertFacts
}

/** Every version there is; the number of queries does not grow with them. */
export async function readAlertSubjects(db: Db): Promise<AlertSubject[]> {
  const rows = await listWatchedRows(db)
  const parts = await selectParts(db, { squidIds: rows.map((row) => row.id) })
  const databases = new Map(parts.databases.map((row) => [row.squidId, row]))
  const containers = Map.groupBy(parts.containers, (row) => row.squidId)
  const processors = Map.groupBy(parts.processors, (row) => row.squidId)
  const apis = Map.groupBy(parts.apis, (row) => row.squidId)
  return rows.map((row) => ({
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
      database: databases.get(row.id) ?? null,
      containers: containers.get(row.id) ?? [],
      seen: processors.get(row.id) ?? [],
      apis: apis.get(row.id) ?? [],
    },
  }))
}
