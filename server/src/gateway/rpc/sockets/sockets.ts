import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { App } from '../../../app.ts'
import type { RpcAccount, RpcRejection } from '../accounts.ts'
import type { Admission, RpcCaller } from '../admission.ts'
import type { ChainService } from '../chain-service.ts'
import { codes, errorText } from '../json-rpc.ts'
import { rejectUpgrade } from '../../../ports/reject-upgrade.ts'
import { Connection } from './connection.ts'
import { Feed } from './feed.ts'
import { closeCodes, defaultLimits, type SocketLimits } from './limits.ts'
import { measureSockets, type SocketCounts, type SocketMetrics } from './metrics.ts'

/** A request to open a WebSocket. `head`: bytes that the caller sent directly after the request. */
export type Upgrade = { req: IncomingMessage; socket: Duplex; head: Buffer }

/** WebSocket connections to the RPC chains of one gateway. */
export class Sockets {
  readonly #app: App
  readonly #admission: Admission
  readonly #limits: SocketLimits
  readonly #server: WebSocketServer
  readonly #connections = new Set<Connection>()
  readonly #feeds = new Map<ChainService, Feed>()
  readonly #timers: NodeJS.Timeout[]
  readonly #metrics: SocketMetrics
  #isClosing = false

  constructor(app: App, admission: Admission, limits: Partial<SocketLimits> = {}) {
    const { SHOAL_RPC_SOCKETS: connections, SHOAL_RPC_SOCKETS_PER_ORG: connectionsPerOrg } = app.config
    this.#app = app
    this.#admission = admission
    this.#limits = { ...defaultLimits, connections, connectionsPerOrg, ...limits }
    // No compression: with it, small messages could use a lot of memory, and it costs more than it saves on a local network.
    const options = {
      noServer: true,
      maxPayload: this.#limits.messageBytes,
      // The memory of a message of many tiny fragments is hundreds of times its size.
      maxFragments: 256,
      perMessageDeflate: false,
      clientTracking: false,
    }
    this.#server = new WebSocketServer(options)
    this.#metrics = measureSockets(app, () => this.counts())
    this.#timers = [
      setInterval(() => void this.#check(), this.#limits.checkMs).unref(),
      setInterval(() => this.#limitMemory(), this.#limits.checkMs).unref(),
      setInterval(() => this.#ping(), this.#limits.pingMs).unref(),
    ]
  }

  /** Accepts the connection, or rejects it with an HTTP status and a JSON-RPC error. */
  accept({ req, socket, head }: Upgrade, token: string, service: ChainService, caller: RpcCaller): void {
    const rejection = this.#rejectionFor(caller.account)
    if (rejection) return rejectWebSocket(socket, rejection)
    this.#server.handleUpgrade(req, socket, head, (webSocket) => {
      const connection: Connection = new Connection({
        socket: webSocket,
        token,
        caller,
        service,
        feed: this.#feedOf(service),
        admission: this.#admission,
        limits: this.#limits,
        log: this.#app.log,
        countOrgSubscriptions: () => this.#subscriptionsOf(connection.orgId),
      })
      this.#connections.add(connection)
      webSocket.once('close', (code) => {
        this.#connections.delete(connection)
        this.#metrics.recordClose(code)
      })
    })
  }

  /** Returns the numbers of open connections and subscriptions by chain. */
  counts(): SocketCounts[] {
    const chains = Map.groupBy(this.#connections, (connection) => connection.chain)
    return [...chains].map(([chain, connections]) => ({
      chain,
      connections: connections.length,
      newHeads: connections.reduce((sum, c) => sum + c.countOf('newHeads'), 0),
      logs: connections.reduce((sum, c) => sum + c.countOf('logs'), 0),
    }))
  }

  /** Waits up to `closeMs` for calls in flight, then closes all connections with a code that makes clients reconnect. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const timer of this.#timers) clearInterval(timer)
    const connections = [...this.#connections]
    for (const connection of connections) connection.pause()
    const deadlineMs = performance.now() + this.#limits.closeMs
    await until(deadlineMs, () => !connections.some((c) => c.isBusy))
    for (const connection of connections)
      connection.close(closeCodes.restart, 'The gateway is restarting. Please reconnect.')
    for (const feed of this.#feeds.values()) feed.close()
    await until(deadlineMs + this.#limits.closeMs, () => this.#connections.size === 0)
    this.#metrics.stop()
  }

  #rejectionFor({ orgId }: RpcAccount): RpcRejection | null {
    if (this.#isClosing) return rejectionOf(503, codes.unavailable, 'The gateway is restarting. Please reconnect.')
    if (this.#connections.size >= this.#limits.connections)
      return rejectionOf(
        503,
        codes.limitExceeded,
        'The gateway has reached its maximum number of WebSocket connections. Try again later.',
      )
    const max = this.#limits.connectionsPerOrg
    if ([...this.#connections].filter((c) => c.orgId === orgId).length < max) return null
    return rejectionOf(
      429,
      codes.limitExceeded,
      `The organization has reached its maximum of ${max} WebSocket connections.`,
    )
  }

  #feedOf(service: ChainService): Feed {
    const feed = this.#feeds.get(service) ?? new Feed(service, this.#app.log)
    this.#feeds.set(service, feed)
    return feed
  }

  #subscriptionsOf(orgId: number): number {
    return [...this.#connections].reduce((sum, c) => (c.orgId === orgId ? sum + c.subscriptionCount : sum), 0)
  }

  async #check(): Promise<void> {
    const byToken = Map.groupBy(this.#connections, (connection) => connection.token)
    for (const [token, connections] of byToken) {
      try {
        const account = await this.#admission.find(token)
        for (const connection of connections) connection.check(account)
      } catch {
        // The database is unavailable: calls fail, but connections stay open.
      }
    }
  }

  /** Disconnects clients that read slowly, of the organization with the most unread bytes, until the limit of the gateway is met. */
  #limitMemory(): void {
    const connections = [...this.#connections].map((connection) => ({ connection, bytes: connection.bufferedBytes }))
    const orgs = [...Map.groupBy(connections, ({ connection }) => connection.orgId).values()].map((ofOrg) => ({
      bytes: sumOf(ofOrg),
      slowest: ofOrg.toSorted((a, b) => a.bytes - b.bytes),
    }))
    let total = sumOf(connections)
    while (total > this.#limits.totalUnsentBytes) {
      const org = orgs.reduce((max, other) => (other.bytes > max.bytes ? other : max))
      const slowest = org.slowest.pop()
      if (!slowest) return
      slowest.connection.closeSlowReader()
      org.bytes -= slowest.bytes
      total -= slowest.bytes
    }
  }

  #ping(): void {
    for (const connection of this.#connections) connection.ping()
  }
}

const sumOf = (items: { bytes: number }[]): number => items.reduce((sum, { bytes }) => sum + bytes, 0)

const rejectionOf = (status: number, code: number, message: string): RpcRejection => ({
  status,
  error: { code, message },
})

async function until(deadlineMs: number, isDone: () => boolean): Promise<void> {
  while (!isDone() && performance.now() < deadlineMs) await new Promise((done) => setTimeout(done, 10))
}

/** Rejects an upgrade with the same error as over HTTP. */
export const rejectWebSocket = (socket: Duplex, { status, error }: RpcRejection): void =>
  rejectUpgrade(socket, status, errorText('null', error))
