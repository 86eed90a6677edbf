import { Counter, Gauge } from 'prom-client'
import type { App } from '../../../app.ts'
import { ownMetrics } from '../../../health/own-metrics.ts'

export type SocketCounts = { chain: string; connections: number; newHeads: number; logs: number }

export type SocketMetrics = {
  /** Counts a connection that ended, by the code it was closed with. */
  closed: (code: number) => void
  /** Ends the counting of these connections. */
  stop: () => void
}

type Shared = { sources: Set<() => SocketCounts[]>; closings: Counter }
const ofApps = new WeakMap<App, Shared>()

/** Adds the connections that `counts` answers to the metrics of this process. They name chains, and no organization. */
export function measureSockets(app: App, counts: () => SocketCounts[]): SocketMetrics {
  const shared = ofApps.get(app) ?? openMetrics(app)
  ofApps.set(app, shared)
  shared.sources.add(counts)
  return {
    closed: (code) => shared.closings.inc({ code }),
    stop: () => void shared.sources.delete(counts),
  }
}

function openMetrics(app: App): Shared {
  const registry = ownMetrics(app)
  const sources: Shared['sources'] = new Set()
  const now = () => [...sources].flatMap((counts) => counts())
  const closings = new Counter({
    name: 'shoal_rpc_socket_closings_total',
    help: 'WebSocket connections to RPC chains that ended, by closing code; 1006: without one.',
    labelNames: ['code'],
    registers: [registry],
  })
  void new Gauge({
    name: 'shoal_rpc_sockets',
    help: 'WebSocket connections to RPC chains that are open at this gateway.',
    labelNames: ['chain'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { chain, connections } of now()) this.inc({ chain }, connections)
    },
  })
  void new Gauge({
    name: 'shoal_rpc_subscriptions',
    help: 'Subscriptions over these connections, by kind.',
    labelNames: ['chain', 'kind'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { chain, newHeads, logs } of now()) {
        this.inc({ chain, kind: 'newHeads' }, newHeads)
        this.inc({ chain, kind: 'logs' }, logs)
      }
    },
  })
  return { sources, closings }
}
