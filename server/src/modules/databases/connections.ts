import { Semaphore, SharedRun } from '@shoal/runtime'
import type { App } from '../../app.ts'
import { isSamePostgres, type Database, type Db } from '../../db/database.ts'
import { onEveryHost, onRespondingHosts, type DatabaseHost } from '../../db/database-hosts.ts'
import {
  clusterConnections,
  lockConnectionLimits,
  selectLoginIds,
  selectConnectionUsers,
  usersOn,
  setConnectionLimits,
  type ConnectionUser,
} from './connections-store.ts'
import { loginRoleName } from './logins-store.ts'

/** Thrown when too few connections are left for a version. The message is shown to users. */
export class NoConnections extends Error {
  override name = 'NoConnections'
}

/** Shoal's own connections to a Postgres that it shares with squids: the pool, the queue, leases and listeners of each role. */
const shoalConnections = 50
/** Shoal's own connections to a Postgres that only squids use. */
const shoalConnectionsToSquids = 10

/** `max`: the connections that a server allows. `capacity`: how many of them the roles of squids may use in total. */
export type Capacity = { max: number; capacity: number }

/** Reads how many connections a server allows, and how many of them are for the roles of squids. */
export async function capacityOf(app: Pick<App, 'database'>, { cluster }: DatabaseHost): Promise<Capacity> {
  const { max } = await clusterConnections(cluster)
  const isShared = isSamePostgres(cluster.url, app.database.url)
  return { max, capacity: max - (isShared ? shoalConnections : shoalConnectionsToSquids) }
}

/**
 * The owner's limit in a hibernated version, which runs no programs. The tenant may still read the data with the owner's
 * password.
 */
const hibernatedConnections = 2

type Limits = { owner: number; reader: number }

/** Programs have priority over external users, but up to two connections are always reserved for external users. */
const minExternal = (user: ConnectionUser) => Math.min(2, user.maxExternalConnections)
const minLimits = (user: ConnectionUser): Limits => ({
  owner: user.isHibernated ? hibernatedConnections : user.minConnections,
  reader: minExternal(user),
})
const maxLimits = (user: ConnectionUser): Limits => ({
  owner: user.isHibernated ? hibernatedConnections : Math.max(user.minConnections, user.maxConnections),
  reader: user.maxExternalConnections,
})
const sumLimits = (users: ConnectionUser[], limits: (user: ConnectionUser) => Limits) =>
  users.reduce((sum, user) => sum + limits(user).owner + limits(user).reader, 0)

/**
 * Returns the connection limit of each role. Every role gets its maximum if the capacity is enough; otherwise the capacity above the
 * minimums is shared in proportion to the ranges between minimum and maximum. Every role therefore has its minimum, even when the
 * other roles use up their limits.
 */
export function shareConnections(users: ConnectionUser[], capacity: number): Map<string, number> {
  const [min, max] = [sumLimits(users, minLimits), sumLimits(users, maxLimits)]
  const share = max <= min ? 0 : Math.min(1, Math.max(0, (capacity - min) / (max - min)))
  const interpolate = (lower: number, upper: number) => lower + Math.floor((upper - lower) * share)
  return new Map(
    users.flatMap((user): [string, number][] => [
      [user.role, interpolate(minLimits(user).owner, maxLimits(user).owner)],
      [user.readRole, interpolate(minLimits(user).reader, maxLimits(user).reader)],
    ]),
  )
}

/** The number of connections that a processor needs: one, and another one while it commits. */
const minPerLogin = 2

/**
 * Divides the owner's limit of each version between the owner and the logins of its processors. Each gets its minimum; the owner also gets
 * half of the rest, and the logins share the other half. `logins`: the ids of the open logins, by version.
 */
export function shareWithLogins(
  limits: Map<string, number>,
  users: ConnectionUser[],
  logins: Map<number, number[]>,
): Map<string, number> {
  const shared = new Map(limits)
  for (const { squidId, role, minConnections } of users) {
    const ids = logins.get(squidId) ?? []
    const limit = limits.get(role) ?? 0
    if (ids.length === 0) continue
    const perLogin = minPerLogin + Math.max(0, Math.floor((limit - minConnections) / 2 / ids.length))
    for (const id of ids) shared.set(loginRoleName(role, id), perLogin)
    shared.set(role, Math.max(1, limit - perLogin * ids.length))
  }
  return shared
}

/** Returns the minimum number of connections that a version needs. */
export const minConnectionsOf = (user: ConnectionUser): number => sumLimits([user], minLimits)

/** Returns the minimum number of connections that these versions need together. */
export async function minConnectionsOfAll(db: Db, squidIds: number[]): Promise<number> {
  const users = await selectConnectionUsers(db)
  return sumLimits(
    users.filter(({ squidId }) => squidIds.includes(squidId)),
    minLimits,
  )
}

/**
 * Returns how many connections of a server are left for a version after the minimums of the other versions on the server.
 * `users`: all versions on the server.
 */
export const connectionsLeftFor = (squidId: number, { capacity }: Capacity, users: ConnectionUser[]): number =>
  capacity -
  sumLimits(
    users.filter((user) => user.squidId !== squidId),
    minLimits,
  )

/**
 * Checks that the capacity of the version's server is enough for the minimums of all versions on it (`users`). Always accepts a
 * version that needs no more connections than before.
 * @throws NoConnections if the capacity is not enough
 */
export function checkConnections(requested: ConnectionUser, limits: Capacity, users: ConnectionUser[]): void {
  const previous = users.find(({ squidId }) => squidId === requested.squidId)
  const needed = minConnectionsOf(requested)
  if (previous && needed <= minConnectionsOf(previous)) return
  const available = connectionsLeftFor(requested.squidId, limits, users)
  if (needed <= available) return
  throw noConnections(needed, available, limits)
}

/** Returns the error for a version that needs more connections than are available. */
export const noConnections = (needed: number, available: number, { max }: Capacity): NoConnections =>
  new NoConnections(
    `The Postgres of this installation has no connections left for this version: it needs ${needed}, and ${Math.max(0, available)} of ${max} are free. Hibernate or delete a version that is not needed, or lower scale.api.replicas; the operator can allow more with SHOAL_POSTGRES_CONNECTIONS, or max_connections of an external Postgres.`,
  )

/** Sets the connection limits of the roles of all versions, and ends the connections that exceed them. */
export async function limitConnections(app: App): Promise<void> {
  await onEveryHost(app.databaseHosts, (host) => limitConnectionsOf(app, host))
}

/** One slot for each database of a control plane in this process, since transactions that wait for the lock would use up the connections of `db`. */
const limiting = new WeakMap<Database, Semaphore>()
/** The runs of each server in this process. */
const limitRuns = new WeakMap<DatabaseHost, SharedRun>()

/**
 * Sets the connection limits of the versions on one server. Must not be called in a transaction, because `host` may have the same pool as
 * `db`. A run reads all versions, so callers in this process that wait for one share the next.
 */
export async function limitConnectionsOf(app: Pick<App, 'db' | 'database'>, host: DatabaseHost): Promise<void> {
  const runs = limitRuns.get(host) ?? new SharedRun(() => setLimitsOn(app, host))
  limitRuns.set(host, runs)
  await runs.run()
}

async function setLimitsOn(app: Pick<App, 'db' | 'database'>, host: DatabaseHost): Promise<void> {
  // Reads before it waits for other servers, so that a server that does not respond does not delay them.
  const { capacity } = await capacityOf(app, host)
  const slot = limiting.get(app.database) ?? new Semaphore(1)
  limiting.set(app.database, slot)
  const limit = () =>
    app.db.transaction(async (tx) => {
      await lockConnectionLimits(tx)
      const users = usersOn(await selectConnectionUsers(tx), host.name)
      const limits = shareWithLogins(shareConnections(users, capacity), users, await selectLoginIds(tx))
      await setConnectionLimits(host.cluster, limits)
    })
  await slot.run(limit)
}

const warnShare = 0.8
/** The warning is repeated only after usage has dropped below this share, so that usage around `warnShare` is logged once. */
const resetShare = 0.7

/** Returns a function to call periodically, which logs a warning when 80 % of the connections of a server are in use. */
export function createConnectionCheck(app: App): () => Promise<void> {
  const warned = new Set<string>()
  return async () => {
    await onEveryHost(app.databaseHosts, warnIfNeeded)
  }
  async function warnIfNeeded({ name, cluster }: DatabaseHost): Promise<void> {
    const { max, open } = await clusterConnections(cluster)
    const share = open / max
    if (share < resetShare) warned.delete(name)
    if (share < warnShare || warned.has(name)) return
    warned.add(name)
    app.log.warn(
      { server: name, open, max },
      'Most connections of the Postgres are in use. Squids fail when none is left. Allow more with SHOAL_POSTGRES_CONNECTIONS, or max_connections of an external Postgres, or run fewer squids.',
    )
  }
}

/** Returns the maximum and the current number of connections of each Postgres server of squids that responds. */
export const connectionCounts = ({
  databaseHosts,
}: Pick<App, 'databaseHosts'>): Promise<{ server: string; max: number; open: number }[]> =>
  onRespondingHosts(databaseHosts, async ({ name, cluster }) => ({
    server: name,
    ...(await clusterConnections(cluster)),
  }))
