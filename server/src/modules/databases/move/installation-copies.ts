import type { Db } from '../../../db/database.ts'
import { capacityOf, limitConnectionsOf, neededByAll } from '../connections.ts'
import { namesWithPrefix, readServerSettings, selectAllDatabases, type SquidDatabaseRow } from '../database-store.ts'
import { closeLoginRole, isLoginRole } from '../logins-store.ts'
import { ownerWhileFull } from '../measuring/writers-store.ts'
import { copyDatabase, CopyDiffers, type Copied, type CopyProgress } from './copy-database.ts'
import { isSameServer } from './copy-store.ts'
import { estimateMove } from './estimate-move.ts'
import { deleteAllLogins, saveServer } from './move-store.ts'
import { checkMove, createTarget, MoveRefused, placeOf, type MoveApp } from './prepare-move.ts'

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
  const { heldSnapshot, copied } = await copyDatabase(placeOf(app, row, row.server), placeOf(app, row, server), options)
  return { copied, check: heldSnapshot.check, release: heldSnapshot.release }
}

/**
 * Prevents all programs and users from using the database on its present server, and ends their sessions. The database stays.
 * @throws DatabaseError if Shoal's role may not change a role; Error if sessions do not end
 */
async function close({ databaseHosts }: Pick<MoveApp, 'databaseHosts'>, row: SquidDatabaseRow): Promise<void> {
  const { cluster } = databaseHosts.get(row.server)
  const logins = (await namesWithPrefix(cluster, `${row.role}_l`)).filter((name) => isLoginRole(row.role, name))
  for (const name of [...logins, row.readRole, row.role, ownerWhileFull(row.role)]) await closeLoginRole(cluster, name)
}

/** Records the new servers of databases, by the ids of their versions. Programs get their own logins there when they start. */
async function arrive(app: MoveApp, tx: Db, serverOf: (row: SquidDatabaseRow) => string): Promise<void> {
  await deleteAllLogins(tx)
  for (const row of await selectAllDatabases(tx)) {
    const server = serverOf(row)
    const { version } = await readServerSettings(app.databaseHosts.get(server).cluster)
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
  arrive,
  limit: limitConnectionsOf,
  neededConnections: neededByAll,
  capacityOf,
  isSameServer,
  /** Whether the error says why a database cannot be copied, in words for the operator. */
  isRefusal: (error: unknown): error is Error => error instanceof MoveRefused || error instanceof CopyDiffers,
}
