import type { App } from '../../app.ts'
import { onEveryHost, type DatabaseHost } from '../../db/database-hosts.ts'
import { isUnavailable } from '../../db/unavailable.ts'
import { limitConnectionsOf } from './connections.ts'
import {
  dropDatabaseAndRoles,
  ensureOwnedDatabase,
  ensureRole,
  installationPrefix,
  namesWithPrefix,
  selectAllDatabases,
} from './database-store.ts'
import { restrictShoalDatabases } from './database.ts'
import { logins } from './logins.ts'
import { ownerWhileFull } from './measuring/writers-store.ts'
import { ownerPasswordOf, readerPasswordOf } from './passwords.ts'
import { limitTemporaryFiles, withoutTemporaryFileLimit } from './temporary-files-store.ts'

/**
 * Makes the Postgres servers of squids match the rows, for example after a restore: creates missing databases, roles and logins,
 * closes other logins, and prevents the roles of versions from connecting to Shoal's own databases. Skips the servers in
 * `reconciled`, and adds the names of those that now match, so that the caller can repeat the call for servers that do not respond
 * yet. Returns the databases that stay open to every role, for a warning to operators who share a Postgres with other programs.
 */
export async function reconcileDatabases(app: App, reconciled: Set<string>): Promise<string[]> {
  const open = await onEveryHost(app.databaseHosts, async (host) => {
    if (reconciled.has(host.name)) return []
    try {
      await createMissingOn(app, host)
      await logins.reconcile(app, host)
      const names = await restrictShoalDatabases(app, host)
      reconciled.add(host.name)
      return names
    } catch (error) {
      if (!isUnavailable(error)) throw error
      app.log.warn(
        { err: error, server: host.name },
        'a Postgres server of squids does not respond and was not checked',
      )
      return []
    }
  })
  return open.flat()
}

/**
 * Creates databases and roles that are recorded in a row but do not exist, for example after the squids' Postgres was restored
 * from an older backup than the control plane. Such a database is empty, so its version must be deployed again.
 * `dropOrphanedDatabases` drops databases without a row. Also limits the temporary files of roles that have no such limit yet. Returns
 * the ids of the versions.
 */
export async function createMissingDatabases(app: App): Promise<number[]> {
  return (await onEveryHost(app.databaseHosts, (host) => createMissingOn(app, host))).flat()
}

async function createMissingOn(app: App, host: DatabaseHost): Promise<number[]> {
  const { name: server, cluster } = host
  const existing = new Set(await namesWithPrefix(cluster, `${await installationPrefix(app.db)}_`))
  const rows = await selectAllDatabases(app.db, server)
  const missing = rows.filter(({ database, readRole }) => [database, readRole].some((name) => !existing.has(name)))
  for (const row of missing) {
    const { database, role, readRole } = row
    const owner = { password: ownerPasswordOf(app.sealer, row), canLogin: true }
    const password = readerPasswordOf(app.sealer, row)
    const reader = { password, canLogin: row.maxExternalConnections > 0 }
    // If the lost database was full, some of its roles may still exist.
    if (!existing.has(database)) await dropDatabaseAndRoles(cluster, database, [readRole, role, ownerWhileFull(role)])
    await ensureRole(cluster, { name: role, ...owner, connectionLimit: row.minConnections })
    await ensureRole(cluster, { name: readRole, ...reader, connectionLimit: row.maxExternalConnections })
    const isFull = existing.has(database) && existing.has(ownerWhileFull(role))
    await ensureOwnedDatabase(cluster, database, isFull ? ownerWhileFull(role) : role, readRole)
  }
  for (const row of await withoutTemporaryFileLimit(cluster, rows))
    // A role that may not limit one database may limit none.
    if (!(await limitTemporaryFiles(cluster, row))) break
  const ids = missing.map(({ squidId }) => squidId)
  if (ids.length === 0) return ids
  await limitConnectionsOf(app, host)
  app.log.warn(
    { squids: ids, server },
    'The databases of these versions were missing and have been created empty, as after a restore. Deploy them again, so that they index from the start.',
  )
  return ids
}
