import { Counter, Gauge } from 'prom-client'
import type { App } from '../../../app.ts'
import { metricsRegistry } from '../../../health/metrics-registry.ts'

export type SocketCounts = { chain: string; connections: number; newHeads: number; logs: number }

export type SocketMetrics = {
  /** Counts a closed connection by closing code. */
  closed: (code: number) => void
  /** Removes these connections from the metrics. */
  stop: () => void
}

type Shared = { sources: Set<() => SocketCounts[]>; closings: Counter }
const ofApps = new WeakMap<App, Shared>()

/** Adds the connections returned by `counts` to the metrics of this process, labelled by chain and not by organization. */
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
  const registry = metricsRegistry(app)
  const sources: Shared['sources'] = new Set()
  const now = () => [...sources].flatMap((counts) => counts())
  const closings = new Counter({
    name: 'shoal_rpc_socket_closings_total',
    help: 'Closed WebSocket connections to RPC chains, by closing code; 1006: closed without a code.',
    labelNames: ['code'],
    registers: [registry],
  })
  void new Gauge({
    name: 'shoal_rpc_sockets',
    help: 'Open WebSocket connections to RPC chains at this gateway.',
    labelNames: ['chain'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { chain, connections } of now()) this.inc({ chain }, connections)
    },
  })
  void new Gauge({
    name: 'shoal_rpc_subscriptions',
    help: 'Active subscriptions over WebSocket connections, by kind.',
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
