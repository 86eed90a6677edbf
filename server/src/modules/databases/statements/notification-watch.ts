import { setTimeout } from 'node:timers/promises'
import type { App } from '../../../app.ts'
import { minutes } from '../../../clock.ts'
import { onEveryHost, type DatabaseHost } from '../../../db/database-hosts.ts'
import { installationPrefix, needsSuperuser, squidIdOfName } from '../database-store.ts'
import { addDatabaseNotice } from './add-notice.ts'
import { endReader, endSenders, queueUsage, selectDatabasesOfOrg, slowestReader } from './notifications-store.ts'
import { refuseConnections } from './refuse-connections.ts'
import { selectOrgIds } from './sessions-store.ts'

/** Postgres names the session that keeps the queue from getting shorter only when this share of the queue is used. */
const halfFull = 0.5
/** When more of the queue is used, the transactions of most senders fail anyway. */
const almostFull = 0.9
/** An organization whose sessions keep the queue twice in this time has several such sessions. */
const repeatedWithin = minutes(1)

/** The attempts of a round to receive the name of the session while the queue is almost full, and the pause between them. */
const [maxAttempts, attemptMs] = [100, 10]

const message =
  'Shoal ended a database session that had not read its notifications (LISTEN): it was in a transaction, or its client did not read, while half of the queue of notifications, which all databases of the server share, was used.'
const refusal = ' Shoal refuses new connections for up to 30 s, because this happened twice in a minute.'

/**
 * Returns a function to call periodically. All databases of a Postgres share its queue of notifications. A session that listens and stays in a
 * transaction, or does not read from its connection, keeps all later notifications in the queue. When the queue is full, every `notify` fails.
 * The function ends these sessions of tenants when the queue is half full, and adds the reason to the version's log.
 */
export function createNotificationWatch(app: App): () => Promise<void> {
  const watches = new Map(app.databaseHosts.all.map((host) => [host.name, createHostWatch(app, host)]))
  return async () =>
    void (await onEveryHost(app.databaseHosts, ({ name }) => watches.get(name)?.() ?? Promise.resolve()))
}

function createHostWatch(app: App, { name, cluster }: DatabaseHost): () => Promise<void> {
  const endedAt = new Map<number, number>()
  let isWarned = false

  /** Returns whether a session of the organization was ended in the last minute, and records that one is ended now. */
  const isRepeated = (orgId: number): boolean => {
    const nowMs = app.clock.now().getTime()
    for (const [id, ms] of endedAt) if (nowMs - ms > repeatedWithin) endedAt.delete(id)
    const hasEnded = endedAt.has(orgId)
    endedAt.set(orgId, nowMs)
    return hasEnded
  }

  const endSlowest = async (usage: number): Promise<void> => {
    let pid = await slowestReader(cluster)
    // A tenant that sends continuously may have received the warning instead. A sender has its lock for less than a millisecond.
    for (let attempt = 0; pid === null && usage > almostFull && attempt < maxAttempts; attempt++) {
      await endSenders(cluster)
      await setTimeout(attemptMs)
      pid = await slowestReader(cluster)
    }
    if (pid === null) return
    const role = await endReader(cluster, pid)
    const rolePrefix = `${await installationPrefix(app.db)}_`
    const squidId = role?.startsWith(rolePrefix) ? squidIdOfName(role, rolePrefix) : null
    if (squidId === null) return
    const [version] = await selectOrgIds(app.db, [squidId])
    const refuses = version !== undefined && isRepeated(version.orgId)
    if (refuses) await refuseConnections(cluster, await selectDatabasesOfOrg(app.db, version.orgId, name))
    await addDatabaseNotice(app, squidId, refuses ? message + refusal : message)
  }

  return async () => {
    const usage = await queueUsage(cluster)
    if (usage < halfFull) return
    try {
      await endSlowest(usage)
    } catch (error) {
      if (!needsSuperuser(error)) throw error
      if (!isWarned)
        app.log.warn(
          'Sessions of squids that fill the queue of notifications of their Postgres cannot be ended: grant pg_signal_backend to the role of SHOAL_SQUIDS_DATABASE_URL, or make it a superuser.',
        )
      isWarned = true
    }
  }
}
