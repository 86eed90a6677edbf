import type { ClientBase } from 'pg'
import { join } from 'node:path'
import { migrate } from '../../../db/migrate.ts'
import { installationPrefix } from '../../databases/index.ts'
import { deleteLinesOfLaterSquids } from '../ingest/deleted-versions-store.ts'
import { hasSeparateDatabase, verifyLogsDatabase, type LogsApp } from './logs-database.ts'
import { copyStateToSeparateDatabase, claimDatabase, stopLogsInControlPlane } from './state-store.ts'

const migrationsFolder = join(import.meta.dirname, '../../../../migrations/logs')

/**
 * Prepares the separate database of logs for new lines, which continue the numbers and positions of those in the control plane. Earlier
 * lines are moved later (`start-move.ts`). Each step can be repeated after an interruption at any point.
 * @param client - the connection to the database of logs that holds the ingestor's lock
 * @throws WrongLogsDatabase
 */
export async function prepareLogsDatabase(app: LogsApp, client: ClientBase): Promise<void> {
  if (!hasSeparateDatabase(app)) return
  await verifyLogsDatabase(app)
  await migrate(app.logsDatabase.pool, migrationsFolder)
  const owner = await claimDatabase(client, await installationPrefix(app.db))
  // Another installation may have claimed the database since it was verified.
  await verifyLogsDatabase(app)
  if (!owner) throw new Error('The table log_owner is empty')
  const source = await app.database.pool.connect()
  try {
    await stopLogsInControlPlane(source, owner.id)
    // Nothing changes the state in the control plane any more.
    if (!owner.isAdopted) await copyStateToSeparateDatabase(source, client)
    // `requireLogsDatabase` skips this if the database does not respond when a server starts.
    await deleteLinesOfLaterSquids(app.logsDatabase.pool, app.db)
  } finally {
    source.release()
  }
}
