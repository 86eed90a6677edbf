import type { App } from '../../../app.ts'
import { addNotice } from '../../versions/index.ts'

/** Adds a line about its database to the log of a version, unless the version was deleted in the meantime. */
export async function addDatabaseNotice(
  app: Pick<App, 'db' | 'clock' | 'log'>,
  squidId: number,
  message: string,
): Promise<void> {
  await addNotice(app.db, { squidId, at: app.clock.now(), container: 'db', message }).catch((error: unknown) =>
    app.log.debug({ err: error, squidId }, 'a notice was not stored'),
  )
}
