import type { SquidServer } from '../config/database-settings.ts'
import { mainServer } from '../config/database-settings.ts'
import type { Database } from './database.ts'
import { isUnavailable } from './unavailable.ts'

/** A Postgres server with databases of squids, connected as a role that may create roles and databases. */
export type DatabaseHost = Omit<SquidServer, 'url'> & { cluster: Database }

/** The Postgres servers of squids. The row of each database names its server. */
export type DatabaseHosts = {
  /** At least one. */
  all: readonly DatabaseHost[]
  /** Returns the server of this name. @throws UnknownServer */
  get: (name: string) => DatabaseHost
}

/** A row names a server that SHOAL_SQUIDS_DATABASE_URL does not list. */
export class UnknownServer extends Error {
  override name = 'UnknownServer'
}

export function createDatabaseHosts(all: readonly DatabaseHost[]): DatabaseHosts {
  const byName = new Map(all.map((host) => [host.name, host]))
  return {
    all,
    get: (name) => {
      const host = byName.get(name)
      if (!host) throw new UnknownServer(`SHOAL_SQUIDS_DATABASE_URL has no server "${name}".`)
      return host
    },
  }
}

/** Returns the servers of an installation that has only one, such as the embedded Postgres. */
export const singleHost = (cluster: Database): DatabaseHosts =>
  createDatabaseHosts([{ name: mainServer, cluster, weight: 1, maxDatabases: null }])

/** A failure on one of several servers. `cause` is the original error. */
class HostError extends Error {
  override name = 'HostError'
}

/**
 * Runs `work` for all servers concurrently, so that a server that is down does not delay the others. Waits for all of them, and
 * returns the results in the order of the servers.
 * @throws the first failure; with several servers, its message names the server
 */
export async function onEveryHost<T>(hosts: DatabaseHosts, work: (host: DatabaseHost) => Promise<T>): Promise<T[]> {
  const outcomes = await Promise.allSettled(hosts.all.map(work))
  return outcomes.map((outcome, index) => {
    if (outcome.status === 'fulfilled') return outcome.value
    const name = hosts.all[index]?.name ?? ''
    const { reason } = outcome as { reason: unknown }
    if (hosts.all.length === 1) throw reason
    throw new HostError(`The Postgres server "${name}" of squids failed`, { cause: reason })
  })
}

/**
 * Runs `work` for all servers like `onEveryHost`, and returns the results of those that respond.
 * @throws any error other than DatabaseUnavailable
 */
export async function onRespondingHosts<T>(
  hosts: DatabaseHosts,
  work: (host: DatabaseHost) => Promise<T>,
): Promise<T[]> {
  const results = await onEveryHost(hosts, async (host) => {
    try {
      return [await work(host)]
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return []
    }
  })
  return results.flat()
}
