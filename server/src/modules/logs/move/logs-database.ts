import type { App } from '../../../app.ts'
import type { Config } from '../../../config/config.ts'
import { connect, type Database } from '../../../db/database.ts'
import { withRequestTimeouts } from '../../../db/query-timeouts.ts'
import { isUnavailable } from '../../../db/unavailable.ts'
import { installationPrefix } from '../../databases/index.ts'
import { deleteLinesOfLaterSquids } from '../ingest/deleted-versions-store.ts'
import { findMove, inspectDatabase } from './state-store.ts'

/**
 * Thrown when SHOAL_LOGS_DATABASE_URL names the wrong database, or is not set although the logs are in a separate database. The
 * message says how to correct it.
 */
export class WrongLogsDatabase extends Error {
  override name = 'WrongLogsDatabase'
}

/** Returns the database of log lines: a separate one if SHOAL_LOGS_DATABASE_URL is set. Connects on first use. */
export const openLogsDatabase = (
  { SHOAL_LOGS_DATABASE_URL: url }: Pick<Config, 'SHOAL_LOGS_DATABASE_URL'>,
  database: Database,
): Database => (url === undefined ? database : connect(url, { max: 10 }))

/** What the functions of this folder need from the app. */
export type LogsApp = Pick<App, 'config' | 'db' | 'database' | 'logsDatabase'>

/** Whether the setting puts the logs in a database that is not that of the control plane. */
export const hasSeparateDatabase = ({ config }: Pick<App, 'config'>): boolean =>
  config.SHOAL_LOGS_DATABASE_URL !== undefined

/**
 * Verifies that the database of logs belongs to this installation and has its lines.
 * @throws WrongLogsDatabase; DatabaseUnavailable
 */
export async function verifyLogsDatabase(app: LogsApp): Promise<void> {
  const move = await findMove(app.db)
  if (!hasSeparateDatabase(app)) {
    if (move)
      throw new WrongLogsDatabase(
        'The logs of this installation are in their own database, but SHOAL_LOGS_DATABASE_URL is not set. Set it to the URL of that database. To move the logs back, run “shoal logs move-back” with the setting; see docs/logs.md.',
      )
    return
  }
  const { isControlPlane, owner } = await inspectDatabase(app.logsDatabase.pool)
  if (isControlPlane)
    throw new WrongLogsDatabase(
      'SHOAL_LOGS_DATABASE_URL names the database of a control plane. Create an empty database for the logs.',
    )
  if (owner && owner.installation !== (await installationPrefix(app.db)))
    throw new WrongLogsDatabase(
      'SHOAL_LOGS_DATABASE_URL names a database with the logs of another installation. Create an empty database for the logs of this one.',
    )
  if (!move && owner?.isAdopted)
    throw new WrongLogsDatabase(
      'SHOAL_LOGS_DATABASE_URL names a database with logs that this installation moved there before, but its own state is earlier, such as after a restore. Restore both databases from the same time, or create an empty database for the logs.',
    )
  if (move && owner?.id !== move.id)
    throw new WrongLogsDatabase(
      'SHOAL_LOGS_DATABASE_URL does not name the database with the logs of this installation. Correct it, or restore that database from its backup; see docs/logs.md if it is lost.',
    )
}

/**
 * Verifies the database of logs before a server starts, and deletes the lines of versions that a restored control plane does not have.
 * If the database does not respond, the server starts without this.
 * @throws WrongLogsDatabase
 */
export async function requireLogsDatabase(app: LogsApp & Pick<App, 'log'>): Promise<void> {
  try {
    await withRequestTimeouts(() => verifyLogsDatabase(app))
    if (hasSeparateDatabase(app) && (await findMove(app.db)))
      await deleteLinesOfLaterSquids(app.logsDatabase.pool, app.db)
  } catch (error) {
    if (!hasSeparateDatabase(app) || !isUnavailable(error)) throw error
    app.log.warn(
      'The database of logs (SHOAL_LOGS_DATABASE_URL) does not respond. Until it does, logs are not shown, and new lines wait on the hosts of their containers.',
    )
  }
}
