import type { App } from '../../../app.ts'
import { measureDatabases, saveUsedBytes, selectMeasurable, setReadOnly, type Measurable } from './measure-store.ts'

/** A read-only database becomes writable again below this share of its storage, so that it does not alternate at the limit. */
const writableShare = 0.95

/**
 * Measures the databases of versions and enforces their storage limits: the owner of a full database is read-only until a larger
 * `scale.addons.postgres.storage` or a hard reset makes space.
 */
export async function observeDatabases(app: App): Promise<void> {
  const owned = await selectMeasurable(app.db)
  if (owned.length === 0) return
  const measured = new Map((await measureDatabases(app.squidsDatabase, owned)).map((m) => [m.database, m]))
  for (const row of owned) {
    const { usedBytes, isReadOnly } = measured.get(row.database) ?? { usedBytes: null, isReadOnly: false }
    if (usedBytes === null) continue
    if (usedBytes !== row.usedBytes) await saveUsedBytes(app.db, row.squidId, usedBytes, app.clock.now())
    const mustOnlyRead = shouldBeReadOnly(row, usedBytes, isReadOnly)
    if (mustOnlyRead === isReadOnly) continue
    await setReadOnly(app.squidsDatabase, row.role, mustOnlyRead)
    app.log.info({ squidId: row.squidId, usedBytes, mustOnlyRead }, 'the room of a database was kept')
  }
}

function shouldBeReadOnly({ totalBytes }: Measurable, usedBytes: number, isReadOnly: boolean): boolean {
  return usedBytes >= totalBytes * (isReadOnly ? writableShare : 1)
}
