import type { App } from '../../../app.ts'
import { measureDatabases, saveUsedBytes, selectMeasurable, setReadOnly, type Measurable } from './measure-store.ts'

/** A database may write again when it is below this share of its room: not at the very edge where it was stopped. */
const freeAgainShare = 0.95

/**
 * Measures the databases of versions, and keeps those within their room: the owner of a full one may only read until there is
 * room again, by a larger `scale.addons.postgres.storage` or a hard reset.
 */
export async function observeDatabases(app: App): Promise<void> {
  const owned = await selectMeasurable(app.db)
  if (owned.length === 0) return
  const measured = new Map((await measureDatabases(app.squidsDatabase, owned)).map((m) => [m.database, m]))
  for (const row of owned) {
    const { usedBytes, isReadOnly } = measured.get(row.database) ?? { usedBytes: null, isReadOnly: false }
    if (usedBytes === null) continue
    if (usedBytes !== row.usedBytes) await saveUsedBytes(app.db, row.squidId, usedBytes, app.clock.now())
    const mustOnlyRead = shouldOnlyRead(row, usedBytes, isReadOnly)
    if (mustOnlyRead === isReadOnly) continue
    await setReadOnly(app.squidsDatabase, row.role, mustOnlyRead)
    app.log.info({ squidId: row.squidId, usedBytes, mustOnlyRead }, 'the room of a database was kept')
  }
}

function shouldOnlyRead({ totalBytes }: Measurable, usedBytes: number, isReadOnly: boolean): boolean {
  return usedBytes >= totalBytes * (isReadOnly ? freeAgainShare : 1)
}
