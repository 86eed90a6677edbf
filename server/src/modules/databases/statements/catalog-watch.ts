import type { App } from '../../../app.ts'
import { mebibytes } from '../../../bytes.ts'
import { onEveryHost, type DatabaseHost } from '../../../db/database-hosts.ts'
import { installationPrefix, squidIdOfName } from '../database-store.ts'
import { addDatabaseNotice } from './add-notice.ts'
import { catalogBytes, catalogEntries, catalogWriters, deleteEntry, vacuumCatalogs } from './catalogs-store.ts'
import { refuseConnections } from './refuse-connections.ts'

/** The size of the catalogs above which the watch deletes values; those of thousands of versions use less than a megabyte. */
const defaultMaxBytes = mebibytes(32)
/** The size of all values of a version above which the watch deletes them. */
const maxVersionBytes = mebibytes(1)

const message =
  'Shoal deleted settings and comments of the database and its roles, and refuses new connections for up to 30 s: they filled tables that all databases of the server share (alter role, alter database, comment on database).'

/**
 * Returns a function to call periodically. The settings of roles and databases, and comments on databases, are in catalogs that all databases
 * of a Postgres share, and that the storage limit of a version does not count. When these catalogs are large, the function ends the
 * sessions of the versions that fill them, deletes the values, and adds the reason to the version's log. `maxBytes`: the size of the catalogs
 * above which it does so.
 */
export function createCatalogWatch(app: App, { maxBytes = defaultMaxBytes } = {}): () => Promise<void> {
  return async () => void (await onEveryHost(app.databaseHosts, (host) => checkCatalogs(app, host, maxBytes)))
}

async function checkCatalogs(app: App, { cluster }: DatabaseHost, maxBytes: number): Promise<void> {
  if ((await catalogBytes(cluster)) < maxBytes) return
  const prefix = `${await installationPrefix(app.db)}_`
  const idOf = (name: string | null) => squidIdOfName(name ?? '', prefix)
  const entries = Map.groupBy(await catalogEntries(cluster, prefix), ({ role, database }) => idOf(role ?? database))
  const tooLarge = [...entries].filter(
    ([, values]) => values.reduce((sum, { bytes }) => sum + bytes, 0) > maxVersionBytes,
  )
  const writers = (await catalogWriters(cluster, prefix)).map(idOf)
  for (const squidId of new Set([...tooLarge.map(([id]) => id), ...writers])) {
    if (squidId === null) continue
    const role = `${prefix}${squidId}`
    await refuseConnections(cluster, [{ role, readRole: `${role}_ro` }])
    for (const entry of entries.get(squidId) ?? []) await deleteEntry(cluster, entry)
    await addDatabaseNotice(app, squidId, message)
  }
  await vacuumCatalogs(cluster)
}
