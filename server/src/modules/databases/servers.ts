import { InvalidSettingError } from '../../config/invalid-setting.ts'
import type { Db } from '../../db/database.ts'
import type { DatabaseHosts } from '../../db/database-hosts.ts'
import { connectionCounts } from './connections.ts'
import { clusterConnections } from './connections-store.ts'
import { countByServer } from './database-store.ts'
import { installationCopies } from './move/installation-copies.ts'
import { moves } from './move/moves.ts'
import { unavailableServer } from './placement.ts'
import { serverSize } from './resources.ts'

/**
 * Checks that SHOAL_SQUIDS_DATABASE_URL lists every server that has databases, or to which databases are being moved, so that operators
 * do not remove a server that versions need.
 * @throws InvalidSettingError with the number of databases on each missing server
 */
async function requireListed(db: Db, hosts: DatabaseHosts): Promise<void> {
  const known = new Set(hosts.all.map(({ name }) => name))
  const missing = [...(await countByServer(db))].filter(([server]) => !known.has(server))
  if (missing.length === 0) return
  const list = missing
    .map(
      ([server, count]) =>
        `${count === 1 ? '1 database is' : `${count} databases are`} on, or being moved to, the server "${server}"`,
    )
    .join(', and ')
  throw new InvalidSettingError(
    `SHOAL_SQUIDS_DATABASE_URL must list all servers with databases of squids: ${list}, which it does not list. Add the server again (with ?shoal_name=…; the one without a name is "main"), and move or delete those versions before you remove it.`,
  )
}

/** The Postgres servers of squids. */
export const servers = {
  requireListed,
  /** The number of databases on a server, including those that are being moved to it. */
  databasesOn: async (db: Db, server: string): Promise<number> => (await countByServer(db)).get(server) ?? 0,
  sizeOf: serverSize,
  unavailable: unavailableServer,
  connections: connectionCounts,
  connectionsOf: clusterConnections,
  moves,
  copies: installationCopies,
}
