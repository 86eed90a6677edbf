import type { App } from '../../../app.ts'
import { onEveryHost, type DatabaseHost } from '../../../db/database-hosts.ts'
import { isUnavailable } from '../../../db/unavailable.ts'
import { installationPrefix, needsSuperuser, squidIdOfName } from '../database-store.ts'
import { addDatabaseNotice } from './add-notice.ts'
import { LockReader, type LockHolder } from './locks-store.ts'
import { refuseConnections } from './refuse-connections.ts'
import { selectOrgIds } from './sessions-store.ts'

/** The share of the lock table that the versions of one organization may use, and the share that all of them may use. */
const [orgShare, totalShare] = [1 / 4, 3 / 4]

type Holder = LockHolder & { squidId: number; orgId: number }

/**
 * Returns the sessions to end, so that no organization, and not all of them together, have more locks than their limits. Ends first the
 * session with the most locks of the organization with the most locks, so that a tenant with several organizations does not make Shoal end
 * the sessions of others.
 */
export function excessOf<T extends Pick<Holder, 'orgId' | 'locks'>>(holders: T[], capacity: number): T[] {
  const sorted = holders.toSorted((a, b) => b.locks - a.locks)
  const sumOf = (sessions: T[]) => sessions.reduce((sum, { locks }) => sum + locks, 0)
  const orgs = [...Map.groupBy(sorted, ({ orgId }) => orgId).values()].map((rest) => ({ rest, locks: sumOf(rest) }))
  const excess: T[] = []
  for (let total = sumOf(holders); ;) {
    const largest = orgs.reduce((a, b) => (b.locks > a.locks ? b : a), { rest: [], locks: 0 })
    const isAllowed = largest.locks <= capacity * orgShare && total <= capacity * totalShare
    const session = isAllowed ? undefined : largest.rest.shift()
    if (!session) return excess
    largest.locks -= session.locks
    total -= session.locks
    excess.push(session)
  }
}

export type LockWatch = { round: () => Promise<void>; close: () => Promise<void> }

/**
 * Returns a watch, whose `round` is called periodically. All sessions of a Postgres share its lock table; when the table is full, the
 * statements of all tenants fail. The watch ends the sessions of organizations that use too much of it, and refuses connections of
 * their versions until `limitConnections` sets the limits again. It adds the reason to the version's log.
 */
export function createLockWatch(app: App): LockWatch {
  const watches = new Map(app.databaseHosts.all.map((host) => [host.name, createHostWatch(app, host)]))
  return {
    round: async () =>
      void (await onEveryHost(app.databaseHosts, ({ name }) => watches.get(name)?.round() ?? Promise.resolve())),
    close: async () => void (await Promise.all([...watches.values()].map((watch) => watch.close()))),
  }
}

function createHostWatch(app: App, { cluster }: DatabaseHost): LockWatch {
  const reader = new LockReader(cluster)
  const orgIds = new Map<number, number>()
  let prefix: string | null = null
  let isWarned = false

  const withOrgs = async (holders: LockHolder[], rolePrefix: string): Promise<Holder[]> => {
    const ofVersions = holders.flatMap((holder) => {
      const squidId = squidIdOfName(holder.role, rolePrefix)
      return squidId === null ? [] : [{ ...holder, squidId }]
    })
    const unknown = ofVersions.map(({ squidId }) => squidId).filter((id) => !orgIds.has(id))
    // If squids share the Postgres of the control plane, its lock table may be full. Then the limit applies to each version.
    if (unknown.length > 0)
      for (const { id, orgId } of await selectOrgIds(app.db, unknown).catch(() => [])) orgIds.set(id, orgId)
    return ofVersions.map((holder) => ({ ...holder, orgId: orgIds.get(holder.squidId) ?? -holder.squidId }))
  }

  /** Ends the session. Returns false if it has ended already, or Shoal's role may not end it. */
  const end = async (holder: Holder): Promise<boolean> => {
    try {
      return await reader.end(holder)
    } catch (error) {
      if (!needsSuperuser(error)) throw error
      if (!isWarned)
        app.log.warn(
          'Sessions of squids that fill the lock table of their Postgres cannot be ended: grant pg_signal_backend to the role of SHOAL_SQUIDS_DATABASE_URL, or make it a superuser.',
        )
      isWarned = true
      return false
    }
  }

  const round = async () => {
    const rolePrefix = (prefix ??= `${await installationPrefix(app.db)}_`)
    const table = await reader.read(rolePrefix).catch((error: unknown) => {
      // Other loops report that a server does not respond. With a full lock table, the next round may succeed.
      if (!isUnavailable(error)) throw error
    })
    if (!table) return
    const { capacity, holders } = table
    if (holders.reduce((sum, { locks }) => sum + locks, 0) <= capacity * orgShare) return
    const ended: Holder[] = []
    for (const holder of excessOf(await withOrgs(holders, rolePrefix), capacity))
      if (await end(holder)) ended.push(holder)
    for (const [squidId, [largest]] of Map.groupBy(ended, (holder) => holder.squidId)) {
      if (!largest) continue
      const role = `${rolePrefix}${squidId}`
      await refuseConnections(cluster, [{ role, readRole: `${role}_ro` }])
      const message = `Shoal ended a database session that held ${largest.locks} locks, and refuses new connections for up to 30 s: all versions of an organization together may hold ${Math.floor(capacity * orgShare)} locks, because all databases of the server share its lock table.`
      await addDatabaseNotice(app, squidId, message)
    }
  }

  return { round, close: () => reader.close() }
}
