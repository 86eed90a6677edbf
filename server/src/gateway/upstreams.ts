import type { Directory } from '@shoal/runtime'
import { Pool } from 'undici'
import { apiPort, metricsPort, workloadIdOf } from '../modules/squids/index.ts'
import type { Target } from './address.ts'
import type { Route } from './routes-store.ts'

/** A program to connect to. */
export type Upstream = {
  pool: Pool
  endpoint: { path: string } | { host: string; port: number }
  /** It did not answer lately: others come first until then (as `performance.now()`). */
  avoidUntilMs: number
}

/** Connections are closed when nobody used them for this long. */
const idleMs = 60_000
const sweepMs = 30_000

/** Connections to squids, kept alive and shared by all requests. */
export class Upstreams {
  readonly #directory: Directory
  readonly #known = new Map<string, Upstream & { usedAtMs: number; generation: string }>()
  readonly #turns = new Map<string, number>()
  readonly #timer: NodeJS.Timeout

  constructor(directory: Directory) {
    this.#directory = directory
    this.#timer = setInterval(() => this.#sweep(), sweepMs).unref()
  }

  /** The program of a route that is next in turn, of those that answer; null when the runtime knows none. */
  pick(route: Route, program: Target['program']): Upstream | null {
    const workload = workloadIdOf(route.squidId, route.generation)
    if (program.kind === 'processor')
      return route.processors.includes(program.name) ? this.#connect(workload, program.name, metricsPort) : null
    if (route.apiReplicas === 0) return null
    if (route.apiReplicas === 1) return this.#replica(workload, 0)
    const turn = this.#turns.get(workload) ?? 0
    this.#turns.set(workload, turn + 1)
    const inTurn = Array.from({ length: route.apiReplicas }, (_, i) => (turn + i) % route.apiReplicas)
    const known = inTurn.map((index) => this.#replica(workload, index)).filter((replica) => replica !== null)
    const nowMs = performance.now()
    return known.find((replica) => replica.avoidUntilMs <= nowMs) ?? known[0] ?? null
  }

  #replica(workload: string, index: number): Upstream | null {
    return this.#connect(workload, index === 0 ? 'api' : `api-${index + 1}`, apiPort)
  }

  #connect(workload: string, container: string, port: number): Upstream | null {
    const key = `${workload}/${container}`
    const known = this.#known.get(key)
    const nowMs = performance.now()
    if (known) {
      known.usedAtMs = nowMs
      return known
    }
    const endpoint = this.#directory.endpoint(workload, container, port)
    if (!endpoint) return null
    const opened = { ...open(endpoint), usedAtMs: nowMs, generation: workload }
    this.#known.set(key, opened)
    return opened
  }

  #sweep(): void {
    const oldest = performance.now() - idleMs
    for (const [key, upstream] of this.#known) {
      if (upstream.usedAtMs > oldest) continue
      this.#known.delete(key)
      this.#turns.delete(upstream.generation)
      // Streams that go on are let finish.
      void upstream.pool.close()
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all([...this.#known.values()].map((u) => u.pool.destroy()))
  }
}

function open(endpoint: NonNullable<ReturnType<Directory['endpoint']>>): Upstream {
  const isSocket = endpoint.kind === 'unix'
  const origin = isSocket ? 'http://squid' : `http://${endpoint.host}:${endpoint.port}`
  const pool = new Pool(origin, {
    ...(isSocket ? { socketPath: endpoint.path } : {}),
    connections: 128,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    // A subscription over HTTP or a slow query may be silent for long.
    headersTimeout: 120_000,
    bodyTimeout: 0,
    maxHeaderSize: 65_536,
  })
  const at = isSocket ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port }
  return { pool, endpoint: at, avoidUntilMs: 0 }
}
