import type { App } from '../../app.ts'
import { isSamePostgres, type Db } from '../../db/database.ts'
import {
  clusterConnections,
  lockConnectionLimits,
  selectLoginIds,
  selectConnectionUsers,
  setConnectionLimits,
  type ConnectionUser,
} from './connections-store.ts'
import { loginRoleName } from './logins-store.ts'

/** Too few connections are left for a version. The message is shown to users. */
export class NoConnections extends Error {
  override name = 'NoConnections'
}

/** Shoal's own connections to a Postgres that it shares with squids: the pool, the queue, leases and listeners of each role. */
const shoalConnections = 50
/** Shoal's own connections to a Postgres that only squids use. */
const shoalConnectionsToSquids = 10

/** Returns the connections of the squids' Postgres, and how many of them the squids' roles may use in total. */
async function capacityOf(app: Pick<App, 'database' | 'squidsDatabase'>): Promise<{ max: number; capacity: number }> {
  const { max } = await clusterConnections(app.squidsDatabase)
  const isShared = isSamePostgres(app.squidsDatabase.url, app.database.url)
  return { max, capacity: max - (isShared ? shoalConnections : shoalConnectionsToSquids) }
}

/** The limit of a hibernated version, which runs no programs. Its tenant may still read the data with the owner's password. */
const hibernatedConnections = 2

type Limits = { owner: number; reader: number }

/** Programs have priority over external users, but a few connections are always reserved for external users. */
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
 * Returns the connection limit of each role. Every role gets its maximum if the capacity allows; otherwise the capacity above the
 * minimums is shared in proportion. So every role has its minimum even when the others use up their limits.
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

/** Number of connections of a processor, including an additional one while it commits. */
const minPerLogin = 2

/**
 * Divides the owner's limit of each version between the owner and the logins of its processors: each gets its minimum, the owner also gets half of
 * the rest, and the logins share the other half. `logins`: the ids of open ones, by version.
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

/**
 * Checks that the capacity is enough for the minimums of all versions. Must run in the transaction that saves the version's row. A
 * version that needs no more connections than before is always accepted.
 * @throws NoConnections
 */
export async function checkConnections(app: App, tx: Db, requested: ConnectionUser): Promise<void> {
  await lockConnectionLimits(tx)
  const users = await selectConnectionUsers(tx)
  const previous = users.find(({ squidId }) => squidId === requested.squidId)
  const needed = minLimits(requested).owner + minLimits(requested).reader
  if (previous && needed <= minLimits(previous).owner + minLimits(previous).reader) return
  const { max, capacity } = await capacityOf(app)
  const others = users.filter(({ squidId }) => squidId !== requested.squidId)
  const available = capacity - sumLimits(others, minLimits)
  if (needed <= available) return
  throw new NoConnections(
    `The Postgres of this installation has no connections left for this version: it needs ${needed}, and ${Math.max(0, available)} of ${max} are free. Hibernate or delete a version that is not needed, or lower scale.api.replicas; the operator can allow more with SHOAL_POSTGRES_CONNECTIONS, or max_connections of an external Postgres.`,
  )
}

/** Sets the connection limits of the roles of all versions, and ends connections above them. */
export async function limitConnections(app: App): Promise<void> {
  const { capacity } = await capacityOf(app)
  await app.db.transaction(async (tx) => {
    await lockConnectionLimits(tx)
    const users = await selectConnectionUsers(tx)
    const limits = shareWithLogins(shareConnections(users, capacity), users, await selectLoginIds(tx))
    await setConnectionLimits(app.squidsDatabase, limits)
  })
}

const warnShare = 0.8
/** The warning is repeated only after usage has dropped below this share, so that usage around `warnShare` is logged once. */
const resetShare = 0.7

/** Returns a function to call periodically. It logs a warning when nearly all connections are in use. */
export function createConnectionCheck(app: App): () => Promise<void> {
  let isWarned = false
  return async () => {
    const { max, open } = await clusterConnections(app.squidsDatabase)
    const share = open / max
    if (share < resetShare) isWarned = false
    if (share < warnShare || isWarned) return
    isWarned = true
    app.log.warn(
      { open, max },
      'Most connections of the Postgres are in use. Squids fail when none is left. Allow more with SHOAL_POSTGRES_CONNECTIONS, or max_connections of an external Postgres, or run fewer squids.',
    )
  }
}

/** Counts the connections of the squids' Postgres: the maximum, and those open now. */
export const connectionCounts = (app: Pick<App, 'squidsDatabase'>): Promise<{ max: number; open: number }> =>
  clusterConnections(app.squidsDatabase)
