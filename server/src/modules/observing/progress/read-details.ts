import type { Db } from '../../../db/database.ts'
import { isHasura } from '../../containers.ts'
import { groupInSlices } from '../../../collections/slices.ts'
import {
  selectDetails,
  type ObservedApi,
  type ObservedContainer,
  type ObservedDatabase,
  type ObservedProcessor,
  type SquidSelector,
} from './details-store.ts'

/** All data of a version that is not in its own row. Observations are those of the serving generation. */
export type VersionDetails = {
  /** Sorted by name. */
  tags: string[]
  database: ObservedDatabase | null
  containers: ObservedContainer[]
  processors: ObservedProcessor[]
  apis: ObservedApi[]
  /** The instances of the addon `hasura`. */
  hasura: ObservedApi[]
}

/** Reads the details of any number of versions in a fixed number of queries. Returns a lookup by version id. */
export async function readVersionDetails(
  db: Db,
  selector: SquidSelector,
): Promise<(squidId: number) => VersionDetails> {
  const rows = await selectDetails(db, selector)
  const bySquid = <R extends { squidId: number }>(of: R[]) => groupInSlices(of, ({ squidId }) => squidId)
  const databases = new Map(rows.databases.map((row) => [row.squidId, row]))
  const [tags, containers, processors] = [
    await bySquid(rows.tags),
    await bySquid(rows.containers),
    await bySquid(rows.processors),
  ]
  const servers = await bySquid(rows.apis)
  return (squidId) => ({
    tags: (tags.get(squidId) ?? []).map((row) => row.tag),
    database: databases.get(squidId) ?? null,
    containers: containers.get(squidId) ?? [],
    processors: processors.get(squidId) ?? [],
    apis: servers.get(squidId)?.filter(isApiRow) ?? [],
    hasura: servers.get(squidId)?.filter(isHasuraRow) ?? [],
  })
}

const isHasuraRow = ({ container }: ObservedApi) => isHasura({ name: container })
const isApiRow = (row: ObservedApi) => !isHasuraRow(row)
