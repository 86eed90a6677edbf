import type { App } from '../../../app.ts'
import { onEveryHost, type DatabaseHost } from '../../../db/database-hosts.ts'
import { ownerPassword } from '../passwords.ts'
import {
  measureDatabases,
  removeOldLimit,
  saveUsedBytes,
  selectMeasurable,
  type MeasurableDatabase,
  type DatabaseMeasurement,
} from './measure-store.ts'
import { allowLogin, revokeWriteAccess, restoreWriteAccess } from './writers-store.ts'

/**
 * A full database becomes writable again below this share of its storage, so that it does not change its state repeatedly at the
 * limit.
 */
const writableShare = 0.95

/**
 * Measures the databases of versions and enforces their storage limits. A full database is not writable until its tenant deletes
 * enough rows, raises `scale.addons.postgres.storage`, or deploys with a hard reset.
 */
export async function observeDatabases(app: App): Promise<void> {
  await onEveryHost(app.databaseHosts, (host) => observeHost(app, host))
}

/** The versions of each server whose databases could not be measured, so that each failure is logged only once. */
const failed = new WeakMap<DatabaseHost, Set<number>>()

async function observeHost(app: App, host: DatabaseHost): Promise<void> {
  const { name, cluster } = host
  const databases = await selectMeasurable(app.db, name)
  if (databases.length === 0) return
  const failedBefore = failed.get(host)
  const failedNow = new Set<number>()
  failed.set(host, failedNow)
  const measured = await measureDatabases(cluster, databases, ({ squidId }, error) => {
    failedNow.add(squidId)
    if (!failedBefore?.has(squidId))
      app.log.error(
        { err: error, squidId },
        'the size of a database could not be measured, so its limit does not apply',
      )
  })
  const measurements = new Map(measured.map((m) => [m.database, m]))
  for (const row of databases) {
    const measurement = measurements.get(row.database)
    if (!measurement) continue
    if (measurement.usedBytes !== row.usedBytes)
      await saveUsedBytes(app.db, row.squidId, measurement.usedBytes, app.clock.now())
    // A failure for one database must not leave other databases without a limit.
    await enforceStorage(app, row, measurement).catch((error: unknown) =>
      app.log.error({ err: error, squidId: row.squidId }, 'the storage limit of a database could not be enforced'),
    )
  }
}

/**
 * Revokes write access to a full database, or restores it when the database has space again. Returns whether the database is
 * full.
 */
export async function enforceStorage(
  app: App,
  row: Omit<MeasurableDatabase, 'usedBytes' | 'profile'>,
  { usedBytes, isFull, canLogin, hasOldLimit }: DatabaseMeasurement,
): Promise<boolean> {
  const { cluster } = app.databaseHosts.get(row.server)
  if (hasOldLimit) await removeOldLimit(cluster, row.role)
  const shouldBeFull = usedBytes >= row.totalBytes * (isFull ? writableShare : 1)
  if (!shouldBeFull && !isFull && !canLogin) await allowLogin(cluster, row.role)
  if (shouldBeFull === isFull) return isFull
  if (shouldBeFull) {
    const password = await ownerPassword(app, row.squidId)
    if (password === null) return false
    const access = await revokeWriteAccess(cluster, row, password)
    app.log.info({ squidId: row.squidId, usedBytes, access }, 'a database is full: nothing can write to it')
  } else {
    await restoreWriteAccess(cluster, row, row.maxExternalConnections > 0)
    app.log.info({ squidId: row.squidId, usedBytes }, 'a database that was full has space again')
  }
  return shouldBeFull
}
