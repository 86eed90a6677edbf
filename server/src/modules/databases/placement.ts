import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { createDatabaseHosts, onRespondingHosts, type DatabaseHost } from '../../db/database-hosts.ts'
import { DatabaseUnavailable, isUnavailable } from '../../db/unavailable.ts'
import {
  connectionsLeftFor,
  capacityOf,
  checkConnections,
  minConnectionsOf,
  noConnections,
  NoConnections,
  type Capacity,
} from './connections.ts'
import { lockConnectionLimits, selectConnectionUsers, usersOn, type ConnectionUser } from './connections-store.ts'
import { countByServer, readServerSettings, selectSquidDatabase } from './database-store.ts'

/** A server that responds, on which the database of a version is or may be created. */
export type Candidate = {
  host: DatabaseHost
  limits: Capacity
  serverSettings: Awaited<ReturnType<typeof readServerSettings>>
}

/**
 * Returns the server of the version's database; without a database, the responding servers on which it may be created: for a dedicated
 * version, those with `shoal_for=dedicated` if there are any; otherwise those without `shoal_for=dedicated`.
 * @throws DatabaseUnavailable if the server of the database does not respond or, without a database, no server responds
 */
export async function readCandidates(app: App, squidId: number, isDedicated: boolean): Promise<Candidate[]> {
  const read = async (host: DatabaseHost): Promise<Candidate> => {
    const limits = await capacityOf(app, host)
    return { host, limits, serverSettings: await readServerSettings(host.cluster) }
  }
  const row = await selectSquidDatabase(app.db, squidId)
  if (row) return [await read(app.databaseHosts.get(row.server))]
  const { all } = app.databaseHosts
  const dedicated = all.filter(({ isForDedicated }) => isForDedicated)
  const others = all.filter(({ isForDedicated }) => !isForDedicated)
  const hosts = createDatabaseHosts(isDedicated && dedicated.length > 0 ? dedicated : others)
  const candidates = await onRespondingHosts(hosts, read)
  if (candidates.length === 0) throw new DatabaseUnavailable('No Postgres server of squids responds')
  return candidates
}

/**
 * Chooses the server of a version: the one with its database, otherwise the one with the highest product of capacity and weight.
 * The capacity of a server is the number of further versions like this one for which it has connections, up to
 * `shoal_max_databases` databases in total. Must run in the transaction that saves the row.
 * @throws NoConnections if the server of the database has too few connections or, without a database, no server has capacity
 */
export async function chooseServer(
  tx: Db,
  candidates: Candidate[],
  requested: Omit<ConnectionUser, 'server'>,
): Promise<Candidate> {
  await lockConnectionLimits(tx)
  const users = await selectConnectionUsers(tx)
  const usersOf = ({ host }: Candidate) => usersOn(users, host.name)
  const row = await selectSquidDatabase(tx, requested.squidId)
  if (row) {
    const current = candidates.find(({ host }) => host.name === row.server)
    if (!current) throw new Error(`The server of the database of squid ${requested.squidId} was not read`)
    checkConnections({ ...requested, server: row.server }, current.limits, usersOf(current))
    return current
  }
  const counts = await countByServer(tx)
  const needed = minConnectionsOf({ ...requested, server: '' })
  const ranked = candidates
    .map((candidate) => {
      const { host, limits } = candidate
      const available = connectionsLeftFor(requested.squidId, limits, usersOf(candidate))
      const databases = host.maxDatabases === null ? Infinity : host.maxDatabases - (counts.get(host.name) ?? 0)
      const capacity = Math.min(Math.floor(available / Math.max(1, needed)), databases)
      return { candidate, available, databases, score: capacity * host.weight }
    })
    .toSorted((a, b) => b.score - a.score)
  const best = ranked[0]
  if (best && best.score > 0) return best.candidate
  const belowMax = ranked.filter(({ databases }) => databases > 0).toSorted((a, b) => b.available - a.available)[0]
  if (belowMax) throw noConnections(needed, belowMax.available, belowMax.candidate.limits)
  throw new NoConnections(
    'The Postgres of this installation has no capacity for another database. Delete a version that is not needed; the operator can raise shoal_max_databases in SHOAL_SQUIDS_DATABASE_URL, or add a server.',
  )
}

/**
 * Returns a sentence for users if the server of the version's database does not respond or, without a database, if no server
 * responds; null otherwise.
 * @throws DatabaseUnavailable if the control plane does not respond
 */
export async function unavailableServer(app: App, squidId: number): Promise<string | null> {
  const row = await selectSquidDatabase(app.db, squidId)
  const hosts = row ? [app.databaseHosts.get(row.server)] : app.databaseHosts.all
  const responses = await Promise.all(hosts.map(responds))
  if (responses.some(Boolean)) return null
  if (app.databaseHosts.all.length === 1) return 'The Postgres of squids does not respond.'
  return row
    ? `The Postgres server "${row.server}", which has the database of this version, does not respond.`
    : 'The Postgres servers of squids do not respond.'
}

async function responds({ cluster }: DatabaseHost): Promise<boolean> {
  try {
    await cluster.pool.query('select 1')
    return true
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return false
  }
}
