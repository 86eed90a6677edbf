import type { App } from '../../../app.ts'
import type { Db } from '../../../db/database.ts'
import { limitConnectionsOf } from '../connections.ts'
import {
  readServerSettings,
  selectAllDatabases,
  selectSquidDatabase,
  type SquidDatabaseRow,
} from '../database-store.ts'
import { copyDatabase, CopyDiffers, type Copied, type CopyProgress } from './copy-database.ts'
import { estimateMove } from './estimate-move.ts'
import { saveMovingTo, saveServer } from './move-store.ts'
import { checkMove, checkCapacity, createTarget, eraseCopy, MoveRefused, locationOf } from './prepare-move.ts'

/** A finished copy of a database. No program can write to the source until `release`, so the copy stays equal to it. */
export type MovingDatabase = {
  copied: Copied
  /**
   * Makes the target the server of the database, in the caller's transaction.
   * @throws Error if programs may have written to the source in the meantime; MoveRefused or NoConnections if the target has no capacity
   */
  switchTo: (tx: Db) => Promise<void>
  /** Allows writes to the source again. */
  release: () => Promise<void>
}

/**
 * Copies the database to another server. Until `switchTo`, the version's row names the source; new programs that are composed in the
 * meantime use the target. The caller must have stopped the processors.
 */
async function copy(
  app: App,
  squidId: number,
  server: string,
  options: { signal: AbortSignal; onProgress: CopyProgress },
): Promise<MovingDatabase> {
  const row = await requireRow(app, squidId)
  await checkMove(app, row, server)
  await createTarget(app, row, server)
  await limitConnectionsOf(app, app.databaseHosts.get(server))
  const { lockedSnapshot, copied } = await copyDatabase(
    locationOf(app, row, row.server),
    locationOf(app, row, server),
    options,
  )
  return {
    copied,
    switchTo: async (tx) => {
      const target = app.databaseHosts.get(server)
      await checkCapacity(app, tx, row, target)
      const { version } = await readServerSettings(target.cluster)
      await lockedSnapshot.check()
      await saveServer(tx, squidId, { server, version })
    },
    release: lockedSnapshot.release,
  }
}

/** Drops the copy that a move left on the server `leftOn`, if that is not the server of the database. Sets the connection limits of both. */
async function cleanUp(app: App, squidId: number, leftOn: string): Promise<void> {
  const row = await selectSquidDatabase(app.db, squidId)
  if (!row || row.server === leftOn) return
  await eraseCopy(app, row, leftOn)
  for (const name of [row.server, leftOn]) await limitConnectionsOf(app, app.databaseHosts.get(name))
}

async function requireRow(app: App, squidId: number): Promise<SquidDatabaseRow> {
  const row = await selectSquidDatabase(app.db, squidId)
  if (!row) throw new MoveRefused('The version has no database.')
  return row
}

const check = async (app: App, squidId: number, server: string): Promise<void> =>
  checkMove(app, await requireRow(app, squidId), server)

/** Moves databases of versions between servers. */
export const moves = {
  /** @throws MoveRefused if the database cannot be moved; UnknownServer; NoConnections */
  check,
  estimate: async (app: App, squidId: number, server: string) =>
    await estimateMove(app, await requireRow(app, squidId), server),
  copy,
  cleanUp,
  /** Returns the ids of the versions whose database is on the server. */
  listOn: async (app: App, server: string) =>
    (await selectAllDatabases(app.db, app.databaseHosts.get(server).name)).map(({ squidId }) => squidId),
  /** Sets the server whose copy new programs use; null: the server of the database, as without a move. */
  setTarget: saveMovingTo,
  /** Whether the error says why the database cannot be moved, in words for the operator. */
  isRefusal: (error: unknown): error is Error => error instanceof MoveRefused || error instanceof CopyDiffers,
}
