import type { Db } from '../../../db/database.ts'
import { capacityOf, limitConnectionsOf, minConnectionsOfAll } from '../connections.ts'
import { readServerSettings, selectAllDatabases, type SquidDatabaseRow } from '../database-store.ts'
import { closeLoginRole } from '../logins-store.ts'
import { rolesOn } from '../measuring/writers-store.ts'
import { copyDatabase, type Copied, type CopyProgress } from './copy-database.ts'
import { isSameServer } from './copy-store.ts'
import { estimateMove } from './estimate-move.ts'
import { deleteAllLogins, saveServer } from './move-store.ts'
import { checkMove, createTarget, locationOf, type MoveApp } from './prepare-move.ts'

/** A copy of a version's database on the server of another installation. */
export type InstallationCopy = {
  copied: Copied
  /** Fails if programs may have written to the source since it was copied. */
  check: () => Promise<void>
  /** Allows writes to the source again. */
  release: () => Promise<void>
}

/** Copies the database to the server, and compares both. No program can write to the source until `release`. */
async function copy(
  app: MoveApp,
  row: SquidDatabaseRow,
  server: string,
  options: { signal: AbortSignal; onProgress: CopyProgress },
): Promise<InstallationCopy> {
  await createTarget(app, row, server)
  const { lockedSnapshot, copied } = await copyDatabase(
    locationOf(app, row, row.server),
    locationOf(app, row, server),
    options,
  )
  return { copied, check: lockedSnapshot.check, release: lockedSnapshot.release }
}

/**
 * Prevents all programs and users from using the database on its current server, and ends their sessions. The database is kept.
 * @throws DatabaseError if Shoal's role may not change a role; Error if sessions do not end
 */
async function close({ databaseHosts }: Pick<MoveApp, 'databaseHosts'>, row: SquidDatabaseRow): Promise<void> {
  const { cluster } = databaseHosts.get(row.server)
  for (const name of await rolesOn(cluster, row)) await closeLoginRole(cluster, name)
}

/** Records the new servers of databases, by the ids of their versions. Programs get their own logins there when they start. */
async function saveServers(app: MoveApp, tx: Db, serverOf: (row: SquidDatabaseRow) => string): Promise<void> {
  await deleteAllLogins(tx)
  const versions = new Map<string, string>()
  for (const row of await selectAllDatabases(tx)) {
    const server = serverOf(row)
    const version = versions.get(server) ?? (await readServerSettings(app.databaseHosts.get(server).cluster)).version
    versions.set(server, version)
    await saveServer(tx, row.squidId, { server, version })
  }
}

/** Copies of the databases of versions, for the move of an installation between two configurations. */
export const installationCopies = {
  list: (db: Db) => selectAllDatabases(db),
  /** @throws MoveRefused if the database cannot be copied; UnknownServer; NoConnections */
  check: checkMove,
  estimate: estimateMove,
  copy,
  close,
  saveServers,
  limit: limitConnectionsOf,
  neededConnections: minConnectionsOfAll,
  capacityOf,
  isSameServer,
}
