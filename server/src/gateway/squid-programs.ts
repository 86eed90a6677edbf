import { ConcurrencyLimit, type Directory } from '@shoal/runtime'
import { connect } from 'node:net'
import { Pool } from 'undici'
import { workloadIdOf } from '../modules/manifest/index.ts'
import { apiName, apiPort, hasuraName, hasuraPort, metricsPort } from '../modules/containers.ts'
import type { Target } from './address.ts'
import type { Route } from './routes-store.ts'

/** A program of a version that the gateway can connect to. */
export type SquidProgram = {
  workload: string
  container: string
  port: number
  pool: Pool
  endpoint: { path: string } | { host: string; port: number }
  /** Until when other replicas are preferred, after a failed connection (as `performance.now()`). */
  avoidUntilMs: number
  /** The number of requests that have not ended, including those that wait for a connection. */
  inFlight: number
  /**
   * Limits, by address, the requests whose bodies have not arrived completely. Each holds a connection for as long as its caller takes to
   * send the body, which may be minutes.
   */
  incompleteBodies: ConcurrencyLimit
}

/** Maximum number of connections to one program. */
const maxConnections = 128
/** Maximum number of incomplete bodies for one program, so that requests without a body always find a free connection. */
const maxBodies = maxConnections / 2
/** Maximum number of those of one address. */
const maxBodiesPerAddress = 32
/** Connections are closed after being unused for this long. */
const idleMs = 60_000
/** Interval at which unused connections are closed. */
const sweepMs = 30_000
/** A replica that refused a connection is skipped for this long if there are others. */
const cooldownMs = 1_000

/** Keep-alive connections to squids, shared by all requests. */
export class SquidPrograms {
  readonly #directory: Directory
  readonly #programs = new Map<string, SquidProgram & { usedAtMs: number }>()
  readonly #pickCounts = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  readonly #stopListening: () => void

  constructor(directory: Directory) {
    this.#directory = directory
    this.#timer = setInterval(() => this.#sweep(), sweepMs).unref()
    this.#stopListening = directory.changed((workload, container) => this.#drop(`${workload}/${container}`))
  }

  /** Returns the next program in turn, preferring replicas that respond; null when the runtime has none. */
  pick(route: Route, program: Target['program']): SquidProgram | null {
    const workload = workloadIdOf(route.squidId, route.generation)
    if (program.kind === 'processor')
      return route.processors.includes(program.name) ? this.#connect(workload, program.name, metricsPort) : null
    const { count, nameOf, port } = replicasOf(route, program.kind)
    if (count <= 1) return count === 1 ? this.#connect(workload, nameOf(0), port) : null
    const key = `${workload}/${program.kind}`
    const picks = this.#pickCounts.get(key) ?? 0
    this.#pickCounts.set(key, picks + 1)
    const replicas = this.replicas(route, program.kind, picks)
    return replicas.find((replica) => !isAvoided(replica)) ?? replicas[0] ?? null
  }

  /** Returns the replicas of an api or of Hasura that exist in the runtime, starting with number `first`. */
  replicas(route: Route, kind: ReplicatedKind, first = 0): SquidProgram[] {
    const workload = workloadIdOf(route.squidId, route.generation)
    const { count, nameOf, port } = replicasOf(route, kind)
    return Array.from({ length: count }, (_, i) => this.#connect(workload, nameOf((first + i) % count), port)).filter(
      (replica) => replica !== null,
    )
  }

  /** Records a failed connection, so that other replicas are preferred for a moment, and looks up the endpoint again. */
  avoid(program: SquidProgram): void {
    program.avoidUntilMs = performance.now() + cooldownMs
    const { workload, container, port } = program
    const endpoint = this.#directory.endpoint(workload, container, port)
    const hasMoved = !endpoint || JSON.stringify(addressOf(endpoint)) !== JSON.stringify(program.endpoint)
    if (hasMoved) this.#drop(`${workload}/${container}`)
  }

  #connect(workload: string, container: string, port: number): SquidProgram | null {
    const key = `${workload}/${container}`
    const existing = this.#programs.get(key)
    const nowMs = performance.now()
    if (existing) {
      existing.usedAtMs = nowMs
      return existing
    }
    const endpoint = this.#directory.endpoint(workload, container, port)
    if (!endpoint) return null
    const program = {
      workload,
      container,
      port,
      ...openPool(endpoint),
      avoidUntilMs: 0,
      inFlight: 0,
      incompleteBodies: new ConcurrencyLimit(maxBodiesPerAddress, maxBodies),
      usedAtMs: nowMs,
    }
    this.#programs.set(key, program)
    return program
  }

  /** Evicts an endpoint, so that the next request looks it up again. Streams in progress continue. */
  #drop(key: string): void {
    const program = this.#programs.get(key)
    this.#programs.delete(key)
    void program?.pool.close()
  }

  #sweep(): void {
    const cutoffMs = performance.now() - idleMs
    for (const [key, program] of this.#programs) {
      if (program.usedAtMs > cutoffMs) continue
      this.#drop(key)
      for (const kind of replicatedKinds) this.#pickCounts.delete(`${program.workload}/${kind}`)
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopListening()
    await Promise.all([...this.#programs.values()].map((program) => program.pool.destroy()))
  }
}

const replicatedKinds = ['api', 'hasura'] as const
type ReplicatedKind = (typeof replicatedKinds)[number]

const replicasOf = (route: Route, kind: ReplicatedKind) =>
  kind === 'api'
    ? { count: route.apiReplicas, nameOf: apiName, port: apiPort }
    : { count: route.hasuraReplicas, nameOf: hasuraName, port: hasuraPort }

/** Whether other replicas are preferred for now, after a failed connection. */
export const isAvoided = (program: SquidProgram): boolean => program.avoidUntilMs > performance.now()

/** Whether the endpoint accepts connections. */
export function acceptsConnections({ endpoint }: Pick<SquidProgram, 'endpoint'>, timeoutMs = 1_000): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(endpoint)
    const end = (isOpen: boolean) => {
      socket.destroy()
      done(isOpen)
    }
    socket.setTimeout(timeoutMs, () => end(false))
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}

const addressOf = (endpoint: NonNullable<ReturnType<Directory['endpoint']>>): SquidProgram['endpoint'] =>
  endpoint.kind === 'unix' ? { path: endpoint.path } : { host: endpoint.host, port: endpoint.port }

function openPool(endpoint: NonNullable<ReturnType<Directory['endpoint']>>): Pick<SquidProgram, 'pool' | 'endpoint'> {
  const isSocket = endpoint.kind === 'unix'
  const origin = isSocket ? 'http://squid' : `http://${endpoint.host}:${endpoint.port}`
  const pool = new Pool(origin, {
    ...(isSocket ? { socketPath: endpoint.path } : {}),
    connections: maxConnections,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    // An HTTP subscription or a slow query may send nothing for a long time.
    headersTimeout: 120_000,
    bodyTimeout: 0,
    maxHeaderSize: 65_536,
  })
  return { pool, endpoint: addressOf(endpoint) }
}
