import type { App } from '../app.ts'
import { notificationsOf } from '../db/notifications.ts'
import { squidsChannel } from '../modules/versions/index.ts'
import { selectRoutes, type Route } from './routes-store.ts'

/** Everything is read anew this often, should a notification have been lost. */
const reloadMs = 30_000

export type RoutingTable = {
  /** By `name@slot` or `name:tag`. */
  find: (org: string, reference: string) => Route | undefined
  get: (squidId: number) => Route | undefined
  /** Calls back when something of a version was read anew. Answers how to stop. */
  changed: (listener: (squidId: number) => void) => () => void
  /** Reads one version anew: for a request that was told it does not exist or does not answer. */
  refresh: (squidId: number) => Promise<void>
  /** How long ago all of them were read, in milliseconds. */
  readMs: () => number
  close: () => Promise<void>
}

/**
 * All versions in memory, kept true by notifications: a request never waits for the database. `onRoute` is called when requests are
 * led by another route from then on, without one when the version is gone.
 */
export async function openRoutingTable(
  app: App,
  onRoute: (squidId: number, route?: Route) => void = () => {},
): Promise<RoutingTable> {
  const listeners = new Set<(squidId: number) => void>()
  const byReference = new Map<string, Route>()
  const byId = new Map<number, Route>()

  const evict = (squidId: number) => {
    const known = byId.get(squidId)
    byId.delete(squidId)
    // A tag may have gone to another version meanwhile.
    for (const key of known ? keysOf(known) : []) if (byReference.get(key) === known) byReference.delete(key)
  }
  const put = (route: Route) => {
    evict(route.squidId)
    byId.set(route.squidId, route)
    for (const key of keysOf(route)) byReference.set(key, route)
    onRoute(route.squidId, route)
  }
  const remove = (squidId: number) => {
    evict(squidId)
    onRoute(squidId)
  }
  const read = async (squidId: number) => {
    const [route] = await selectRoutes(app.db, squidId)
    if (route) put(route)
    else remove(squidId)
    for (const listener of listeners) listener(squidId)
  }
  /** By version: many requests that fail at once ask once. */
  const reading = new Map<number, Promise<void>>()
  const refresh = (squidId: number) => {
    const begun = reading.get(squidId) ?? read(squidId).finally(() => reading.delete(squidId))
    reading.set(squidId, begun)
    return begun
  }
  let readAtMs = performance.now()
  const reload = async () => {
    const routes = await selectRoutes(app.db)
    const present = new Set(routes.map((r) => r.squidId))
    for (const id of byId.keys()) if (!present.has(id)) remove(id)
    routes.forEach(put)
    readAtMs = performance.now()
  }
  const quietly = (work: Promise<void>) =>
    void work.catch((error: unknown) => app.log.warn({ err: error }, 'the gateway cannot read its routes'))

  const stopListening = notificationsOf(app.database).listen(squidsChannel, {
    onMessage: (id) => quietly(read(Number(id))),
    onListening: () => quietly(reload()),
  })
  await reload()
  const timer = setInterval(() => quietly(reload()), reloadMs).unref()
  return {
    find: (org, reference) => byReference.get(`${org}/${reference}`),
    get: (squidId) => byId.get(squidId),
    changed: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    refresh,
    readMs: () => performance.now() - readAtMs,
    close: async () => {
      clearInterval(timer)
      stopListening()
    },
  }
}

const keysOf = (route: Route): string[] => [
  `${route.org}/${route.name}@${route.slot}`,
  ...route.tags.map((tag) => `${route.org}/${route.name}:${tag}`),
]
