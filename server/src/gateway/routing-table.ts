import type { App } from '../app.ts'
import { notificationsOf } from '../db/notifications.ts'
import { measured } from '../health/loops.ts'
import { squidsChannel } from '../modules/versions/index.ts'
import { forEachInSlices } from '../collections/slices.ts'
import { selectRoutes, type Route } from './routes-store.ts'

/** Interval at which all routes are read again, in case a notification was lost. */
const reloadMs = 30_000

/** The routes of all versions. */
export type RoutingTable = {
  /** Returns the route of `name@slot` or `name:tag`. */
  find: (org: string, reference: string) => Route | undefined
  get: (squidId: number) => Route | undefined
  /** Registers a listener that is called when a single version was read again. Returns a function to remove it. */
  onChange: (listener: (squidId: number) => void) => () => void
  /** Reads one version again. Called when a request found that it does not exist or does not respond. */
  refresh: (squidId: number) => Promise<void>
  /** Milliseconds since all routes were last read. */
  msSinceReload: () => number
  close: () => Promise<void>
}

/**
 * Keeps the routes of all versions in memory, updated by notifications, so that requests never wait for the database. Calls
 * `onRoute` for each route that was read, changed or not, and without a route when a version no longer exists.
 */
export async function openRoutingTable(
  app: App,
  onRoute: (squidId: number, route?: Route) => void = () => {},
): Promise<RoutingTable> {
  const listeners = new Set<(squidId: number) => void>()
  const byReference = new Map<string, Route>()
  const byId = new Map<number, Route>()

  const evict = (squidId: number) => {
    const route = byId.get(squidId)
    byId.delete(squidId)
    // A tag may have been moved to another version in the meantime.
    for (const key of route ? keysOf(route) : []) if (byReference.get(key) === route) byReference.delete(key)
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
    const readAlone = readSinceReload
    const [route] = await selectRoutes(app.db, squidId)
    readAlone.add(squidId)
    if (route) put(route)
    else remove(squidId)
    for (const listener of listeners) listener(squidId)
  }
  /** Reads in progress by version, shared by concurrent requests. */
  const pendingReads = new Map<number, Promise<void>>()
  const refresh = (squidId: number) => {
    const pending = pendingReads.get(squidId) ?? read(squidId).finally(() => pendingReads.delete(squidId))
    pendingReads.set(squidId, pending)
    return pending
  }
  let reloadedAtMs = performance.now()
  /** The versions that were read while all routes are read: what was read of them may be newer than the rows of all. */
  let readSinceReload = new Set<number>()
  const reload = measured(app, 'gateway routes', reloadMs, async () => {
    const readAlone = new Set<number>()
    readSinceReload = readAlone
    const routes = await selectRoutes(app.db)
    const currentIds = new Set(routes.map((r) => r.squidId))
    for (const id of byId.keys()) if (!currentIds.has(id) && !readAlone.has(id)) remove(id)
    await forEachInSlices(routes, (route) => void (readAlone.has(route.squidId) || put(route)))
    reloadedAtMs = performance.now()
  })
  const logFailure = (promise: Promise<void>) =>
    void promise.catch((error: unknown) => app.log.warn({ err: error }, 'failed to read gateway routes'))

  const stopListening = notificationsOf(app.database).listen(squidsChannel, {
    onMessage: (id) => logFailure(read(Number(id))),
    onListening: () => logFailure(reload()),
  })
  await reload()
  const timer = setInterval(() => logFailure(reload()), reloadMs).unref()
  return {
    find: (org, reference) => byReference.get(`${org}/${reference}`),
    get: (squidId) => byId.get(squidId),
    onChange: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    refresh,
    msSinceReload: () => performance.now() - reloadedAtMs,
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
