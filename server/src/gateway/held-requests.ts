import type { Directory } from '@shoal/runtime'
import { parseWorkloadId } from '../modules/manifest/index.ts'
import { unavailableReason } from './gateway-errors.ts'
import type { Route } from './routes-store.ts'
import type { RoutingTable } from './routing-table.ts'
import { acceptsConnections, type SquidPrograms } from './squid-programs.ts'
import { MemoryBudget } from '../collections/memory-budget.ts'

/** Limits of the requests that wait for a version to respond. */
export type HoldingLimits = {
  /** Maximum total waiting time of a request. */
  maxWaitMs: number
  /** A version that is down for this long is considered failed: its requests are rejected immediately until it responds again. */
  failedAfterMs: number
  /** Maximum number of waiting requests of one version. */
  maxHeld: number
}

export const defaultHoldingLimits: HoldingLimits = { maxWaitMs: 15_000, failedAfterMs: 60_000, maxHeld: 1_000 }

/** Interval between polls while no notification arrives. */
const pollMs = 250
/** Minimum interval between polls, even if notifications arrive faster. */
const minPollGapMs = 25
/** Interval at which the route is read again, in case a notification was lost. */
const refreshMs = 2_000

/** A request that waits for a version to respond. */
export type HeldRequest = {
  route: Route
  /** Bytes of the body held in memory. */
  bytes: number
  /** When to stop waiting, as `performance.now()`. */
  deadlineMs: number
  /** Registers a listener for the caller's disconnection; returns a function to remove it. */
  onDisconnect: (listener: () => void) => () => void
}

/** A version with requests that wait, or that was down recently. */
type HeldVersion = {
  route: Route
  /** Functions that let the waiting requests retry. */
  waiting: Set<() => void>
  /** Starts the next poll early. */
  wake: () => void
  isPolling: boolean
  /** When a poll first found no response; null if the version has responded since. */
  downSinceMs: number | null
}

/** Holds requests for versions that should be running but do not respond, until they do. */
export class HeldRequests {
  readonly #versions = new Map<number, HeldVersion>()
  readonly #memory = new MemoryBudget()
  readonly #table: RoutingTable
  readonly #programs: SquidPrograms
  readonly #limits: HoldingLimits
  readonly #unsubscribers: (() => void)[]
  #isClosed = false

  constructor(table: RoutingTable, programs: SquidPrograms, directory: Directory, limits: HoldingLimits) {
    this.#table = table
    this.#programs = programs
    this.#limits = limits
    const wake = (squidId: number | undefined) => {
      if (squidId !== undefined) this.#versions.get(squidId)?.wake()
    }
    this.#unsubscribers = [
      directory.changed((workload) => this.#versions.size > 0 && wake(parseWorkloadId(workload)?.squidId)),
      table.onChange((squidId) => wake(squidId)),
    ]
  }

  /** Records that a version responded, so that its requests are held the next time it is down. */
  recordResponse(squidId: number): void {
    const version = this.#versions.size > 0 ? this.#versions.get(squidId) : undefined
    if (version) version.downSinceMs = null
    if (version?.isPolling === false) this.#versions.delete(squidId)
  }

  /**
   * Resolves to true when the request may be retried; to false on timeout, when too many requests are waiting, when the version has
   * failed, or when the caller has disconnected.
   */
  async wait({ route, bytes, deadlineMs, onDisconnect }: HeldRequest): Promise<boolean> {
    const version = this.#versionOf(route)
    const nowMs = performance.now()
    const hasFailed = version.downSinceMs !== null && nowMs - version.downSinceMs > this.#limits.failedAfterMs
    if (this.#isClosed || hasFailed || nowMs >= deadlineMs || version.waiting.size >= this.#limits.maxHeld) return false
    const { promise, resolve: end } = Promise.withResolvers<boolean>()
    const release = this.#memory.reserve(route.org, bytes, () => end(false))
    if (!release) return false
    const retry = () => end(true)
    version.waiting.add(retry)
    const timer = setTimeout(() => end(false), deadlineMs - nowMs)
    const removeListener = onDisconnect(() => end(false))
    if (!version.isPolling) void this.#poll(version)
    const mayRetry = await promise
    clearTimeout(timer)
    removeListener()
    version.waiting.delete(retry)
    release()
    return mayRetry && !this.#isClosed
  }

  close(): void {
    this.#isClosed = true
    for (const unsubscribe of this.#unsubscribers) unsubscribe()
    for (const version of this.#versions.values()) for (const retry of version.waiting) retry()
  }

  #versionOf(route: Route): HeldVersion {
    const version = this.#versions.get(route.squidId) ?? {
      route,
      waiting: new Set(),
      wake: () => {},
      isPolling: false,
      downSinceMs: null,
    }
    this.#versions.set(route.squidId, version)
    return version
  }

  /** One poll loop serves all waiting requests of a version. */
  async #poll(version: HeldVersion): Promise<void> {
    version.isPolling = true
    const { squidId } = version.route
    let refreshedMs = -Infinity
    while (version.waiting.size > 0 && !this.#isClosed) {
      const notified = new Promise<void>((wake) => (version.wake = wake))
      if (performance.now() - refreshedMs > refreshMs) {
        refreshedMs = performance.now()
        // A notification may have been lost. While the database is unavailable, the refresh fails and polling continues.
        this.#table.refresh(squidId).catch(() => undefined)
      }
      if (await this.#mayRespond(squidId)) {
        version.downSinceMs = null
        for (const retry of version.waiting) retry()
        await pause(minPollGapMs)
        continue
      }
      version.downSinceMs ??= performance.now()
      await Promise.race([notified, pause(pollMs)])
      await pause(minPollGapMs)
    }
    version.isPolling = false
    if (version.downSinceMs === null || !this.#table.get(squidId)) this.#versions.delete(squidId)
  }

  /**
   * Whether a retry of the waiting requests may get a response. Also true when the version should no longer run, since the retry then
   * returns the reason.
   */
  async #mayRespond(squidId: number): Promise<boolean> {
    const route = this.#table.get(squidId)
    if (!route || unavailableReason(route) || route.apiReplicas === 0) return true
    for (const program of this.#programs.replicas(route, 'api')) {
      if (await acceptsConnections(program)) {
        program.avoidUntilMs = 0
        return true
      }
      this.#programs.avoid(program)
    }
    return false
  }
}

const pause = (ms: number) => new Promise<void>((done) => void setTimeout(done, ms).unref())
