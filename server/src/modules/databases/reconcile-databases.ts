import type { App } from '../../app.ts'
import { limitConnections } from './connections.ts'
import {
  dropDatabaseAndRoles,
  ensureOwnedDatabase,
  ensureRole,
  installationPrefix,
  namesWithPrefix,
  selectAllDatabases,
} from './database-store.ts'
import { closeOtherDatabases } from './database.ts'
import { logins } from './logins.ts'
import { ownerWhileFull } from './measuring/writers-store.ts'
import { ownerPasswordOf, readerPasswordOf } from './passwords.ts'

/**
 * Makes the Postgres of squids match the rows, as after a restore: creates missing databases, roles and logins, and closes other logins and
 * databases. Returns the databases that stay open to every role, for a warning to operators who share a Postgres with other programs.
 */
export async function restoreDatabases(app: App): Promise<string[]> {
  await createMissingDatabases(app)
  await logins.reconcile(app)
  return await closeOtherDatabases(app)
}

/**
 * Creates databases and roles that are recorded in a row but do not exist, as after a restore of the squids' Postgres from
 * an older backup than the control plane. Such a database is empty: its squid must be deployed again to create its tables. Databases
 * without a row are dropped by `collectDatabases`. Returns the ids of the versions.
 */
export async function createMissingDatabases(app: App): Promise<number[]> {
  const cluster = app.squidsDatabase
  const existing = new Set(await namesWithPrefix(cluster, `${await installationPrefix(app.db)}_`))
  const missing = (await selectAllDatabases(app.db)).filter(({ database, readRole }) =>
    [database, readRole].some((name) => !existing.has(name)),
  )
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
  const ids = missing.map(({ squidId }) => squidId)
  if (ids.length === 0) return ids
  await limitConnections(app)
  app.log.warn(
    { squids: ids },
    'The databases of these versions were missing and have been created empty, as after a restore. Deploy them again, so that they index from the start.',
  )
  return ids
}
