import { SharedRun } from '@shoal/runtime'
import type { App } from '../app.ts'
import { notificationsOf } from '../db/notifications.ts'
import { measured } from '../health/loops.ts'
import { domainsChannel, selectActiveDomains, type ActiveDomain } from '../modules/domains/index.ts'
import { nameOf } from '../tls/host-name.ts'
import type { Target } from './address.ts'

/** Interval at which all domains are read again, in case a notification was lost. */
const reloadMs = 30_000

/** The active domains of all organizations. */
export type DomainTable = {
  /** Returns what the gateway serves at the name of a Host header; null if the name is not an active domain. */
  find: (host: string | undefined, url: string) => Target | null
  /** Whether the name is an active domain. */
  has: (name: string) => boolean
  close: () => void
}

/**
 * Keeps the active domains of organizations in memory, updated by notifications, so that requests never wait for the database.
 * @throws the error of the database if it does not respond at the start
 */
export async function openDomainTable(app: App): Promise<DomainTable> {
  let domains = new Map<string, ActiveDomain>()
  const firstRead = Promise.withResolvers<void>()
  // One read at a time, so that an earlier read cannot replace the result of a later one.
  const reload = new SharedRun(
    measured(app, 'gateway domains', reloadMs, async () => {
      domains = new Map((await selectActiveDomains(app.db)).map((domain) => [domain.name, domain]))
    }),
  )
  const reloadOrLog = () =>
    void reload.run().then(firstRead.resolve, (error: unknown) => {
      firstRead.reject(error)
      app.log.warn({ err: error }, 'failed to read domains')
    })
  // The first read begins only while the connection listens, so that no notification is missed.
  const stopListening = notificationsOf(app.database).listen(domainsChannel, {
    onMessage: reloadOrLog,
    onListening: reloadOrLog,
  })
  const timer = setInterval(reloadOrLog, reloadMs).unref()
  const close = () => {
    clearInterval(timer)
    stopListening()
  }
  await firstRead.promise.catch((error: unknown) => {
    close()
    throw error
  })
  return {
    find: (host, url) => {
      const domain = domains.size === 0 ? undefined : domains.get(nameOf(host))
      if (!domain) return null
      return {
        org: domain.org,
        reference: `${domain.squid}:${domain.tag}`,
        program: { kind: 'api' },
        path: url.startsWith('/') ? url : '/',
      }
    },
    has: (name) => domains.has(name),
    close,
  }
}
