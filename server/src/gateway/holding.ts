import type { Directory } from '@shoal/runtime'
import { parseWorkloadId } from '../modules/manifest/index.ts'
import { whyClosed } from './answers.ts'
import type { Route } from './routes-store.ts'
import type { RoutingTable } from './routing-table.ts'
import { canConnect, type Upstreams } from './upstreams.ts'
import { WaitingRoom } from './waiting-room.ts'

export type HoldingLimits = {
  /** The longest a request waits in all. */
  heldMs: number
  /** A version that did not answer for so long has failed: its requests are refused at once, until it answers again. */
  failedAfterMs: number
  /** Requests of one version that wait at the same time. */
  maxHeld: number
}

export const defaultHoldingLimits: HoldingLimits = { heldMs: 15_000, failedAfterMs: 60_000, maxHeld: 1_000 }

/** Between two looks when nothing was told. */
const probeMs = 250
const leastBetweenMs = 25
const refreshMs = 2_000

export type Held = {
  route: Route
  /** Of the body, or of what of it has arrived. */
  bytes: number
  /** As `performance.now()`. */
  endMs: number
  /** Calls back when the caller hangs up; answers how to stop. */
  onGone: (listener: () => void) => () => void
}

type Gate = { route: Route; waiting: Set<() => void>; wake: () => void; isLooking: boolean; downSinceMs: number | null }

/** Requests for versions that should answer and do not, held until they do. */
export class Holding {
  readonly #gates = new Map<number, Gate>()
  readonly #room = new WaitingRoom()
  readonly #table: RoutingTable
  readonly #upstreams: Upstreams
  readonly #pace: HoldingLimits
  readonly #stops: (() => void)[]
  #isClosed = false

  constructor(table: RoutingTable, upstreams: Upstreams, directory: Directory, pace: HoldingLimits) {
    this.#table = table
    this.#upstreams = upstreams
    this.#pace = pace
    const wake = (squidId: number | undefined) => {
      if (squidId !== undefined) this.#gates.get(squidId)?.wake()
    }
    this.#stops = [
      directory.changed((workload) => this.#gates.size > 0 && wake(parseWorkloadId(workload)?.squidId)),
      table.changed((squidId) => wake(squidId)),
    ]
  }

  /** The version answered: the next time that it does not, its requests are held. */
  answered(squidId: number): void {
    const gate = this.#gates.size > 0 ? this.#gates.get(squidId) : undefined
    if (gate) gate.downSinceMs = null
    if (gate?.isLooking === false) this.#gates.delete(squidId)
  }

  /** Waits until it is worth another try; false when it is not: too late, too many wait, the version has failed, the caller is gone. */
  async wait({ route, bytes, endMs, onGone }: Held): Promise<boolean> {
    const gate = this.#gateOf(route)
    const nowMs = performance.now()
    const hasFailed = gate.downSinceMs !== null && nowMs - gate.downSinceMs > this.#pace.failedAfterMs
    if (this.#isClosed || hasFailed || nowMs >= endMs || gate.waiting.size >= this.#pace.maxHeld) return false
    const { promise, resolve: end } = Promise.withResolvers<boolean>()
    const leave = this.#room.enter(route.org, bytes, () => end(false))
    if (!leave) return false
    const release = () => end(true)
    gate.waiting.add(release)
    const timer = setTimeout(() => end(false), endMs - nowMs)
    const stop = onGone(() => end(false))
    if (!gate.isLooking) void this.#look(gate)
    const isWorthIt = await promise
    clearTimeout(timer)
    stop()
    gate.waiting.delete(release)
    leave()
    return isWorthIt && !this.#isClosed
  }

  close(): void {
    this.#isClosed = true
    for (const stop of this.#stops) stop()
    for (const gate of this.#gates.values()) for (const release of gate.waiting) release()
  }

  #gateOf(route: Route): Gate {
    const gate = this.#gates.get(route.squidId) ?? {
      route,
      waiting: new Set(),
      wake: () => {},
      isLooking: false,
      downSinceMs: null,
    }
    this.#gates.set(route.squidId, gate)
    return gate
  }

  /** One look serves all who wait for the version, however many they are. */
  async #look(gate: Gate): Promise<void> {
    gate.isLooking = true
    const { squidId } = gate.route
    let refreshedMs = -Infinity
    while (gate.waiting.size > 0 && !this.#isClosed) {
      const told = new Promise<void>((wake) => (gate.wake = wake))
      if (performance.now() - refreshedMs > refreshMs) {
        refreshedMs = performance.now()
        // A notification may have been lost. While the database is away this fails, and looking goes on without it.
        this.#table.refresh(squidId).catch(() => undefined)
      }
      if (await this.#mayAnswer(squidId)) {
        gate.downSinceMs = null
        for (const release of gate.waiting) release()
        await pause(leastBetweenMs)
        continue
      }
      gate.downSinceMs ??= performance.now()
      await Promise.race([told, pause(probeMs)])
      await pause(leastBetweenMs)
    }
    gate.isLooking = false
    if (gate.downSinceMs === null || !this.#table.get(squidId)) this.#gates.delete(squidId)
  }

  /** True also when the version shall not answer any more, which those who wait are then told. */
  async #mayAnswer(squidId: number): Promise<boolean> {
    const route = this.#table.get(squidId)
    if (!route || whyClosed(route) || route.apiReplicas === 0) return true
    for (const upstream of this.#upstreams.replicas(route)) {
      if (await canConnect(upstream)) {
        upstream.avoidUntilMs = 0
        return true
      }
      this.#upstreams.avoid(upstream)
    }
    return false
  }
}

const pause = (ms: number) => new Promise<void>((done) => void setTimeout(done, ms).unref())
