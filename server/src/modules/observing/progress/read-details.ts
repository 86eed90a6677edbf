import type { Db } from '../../../db/database.ts'
import { isHasura } from '../../containers.ts'
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
  const tags = Map.groupBy(rows.tags, (row) => row.squidId)
  const databases = new Map(rows.databases.map((row) => [row.squidId, row]))
  const containers = Map.groupBy(rows.containers, (row) => row.squidId)
  const processors = Map.groupBy(rows.processors, (row) => row.squidId)
  const apis = Map.groupBy(rows.apis.filter(isApiRow), (row) => row.squidId)
  const hasura = Map.groupBy(rows.apis.filter(isHasuraRow), (row) => row.squidId)
  return (squidId) => ({
    tags: (tags.get(squidId) ?? []).map((row) => row.tag),
    database: databases.get(squidId) ?? null,
    containers: containers.get(squidId) ?? [],
    processors: processors.get(squidId) ?? [],
    apis: apis.get(squidId) ?? [],
    hasura: hasura.get(squidId) ?? [],
  })
}

const isHasuraRow = ({ container }: ObservedApi) => isHasura({ name: container })
const isApiRow = (row: ObservedApi) => !isHasuraRow(row)
