import { Counter, Gauge } from 'prom-client'
import type { App } from '../../../app.ts'
import { oncePerProcess } from '../../../collections/once-per.ts'
import { metricsRegistry } from '../../../health/metrics-registry.ts'

/** The numbers of open connections to a chain, and of their subscriptions by kind. */
export type SocketCounts = { chain: string; connections: number; newHeads: number; logs: number }

/** The metrics of one gateway's connections. */
export type SocketMetrics = {
  /** Counts a closed connection by its closing code. */
  recordClose: (code: number) => void
  /** Removes these connections from the metrics. */
  stop: () => void
}

/** Adds the connections returned by `counts` to the metrics of this process. Labels name the chain, not the organization. */
export function measureSockets(app: App, counts: () => SocketCounts[]): SocketMetrics {
  const shared = sharedMetrics(app)
  shared.sources.add(counts)
  return {
    recordClose: (code) => shared.closings.inc({ code }),
    stop: () => void shared.sources.delete(counts),
  }
}

const sharedMetrics = oncePerProcess((app: App) => {
  const registry = metricsRegistry(app)
  const sources = new Set<() => SocketCounts[]>()
  const readCounts = () => [...sources].flatMap((counts) => counts())
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
      for (const { chain, connections } of readCounts()) this.inc({ chain }, connections)
    },
  })
  void new Gauge({
    name: 'shoal_rpc_subscriptions',
    help: 'Active subscriptions over WebSocket connections, by kind.',
    labelNames: ['chain', 'kind'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { chain, newHeads, logs } of readCounts()) {
        this.inc({ chain, kind: 'newHeads' }, newHeads)
        this.inc({ chain, kind: 'logs' }, logs)
      }
    },
  })
  return { sources, closings }
})
