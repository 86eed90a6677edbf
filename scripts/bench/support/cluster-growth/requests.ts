import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, fetch } from 'undici'
import type { FakeCluster } from '../../../kubernetes/fake-cluster.ts'

/** The numbers of requests to the API server since its start: those of the driver by verb and resource, and all together. */
export type Requests = { ofDriver: Map<string, number>; total: number }

/** Counts the lines of a log of requests by verb and resource. */
export function countRequests(log: string): Map<string, number> {
  type Line = { verb: string; objectRef?: { resource?: string; subresource?: string } }
  const counts = new Map<string, number>()
  for (const line of log.split('\n')) {
    if (!line) continue
    const { verb, objectRef: { resource = '', subresource } = {} } = JSON.parse(line) as Line
    const name = [verb, resource && (subresource ? `${resource}/${subresource}` : resource)].filter(Boolean).join(' ')
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

/** Adds up all samples of a counter in the text format of Prometheus. */
export function sumOfCounter(metrics: string, name: string): number {
  const samples = metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'gm'))
  return [...samples].reduce((sum, [, value]) => sum + Number(value), 0)
}

/** The requests of a period: those of the driver by verb and resource, and the number of all others. */
export type RequestsOf = { driver: Record<string, number>; others: number }

/** Returns the requests between two readings. */
export function requestsBetween(before: Requests, after: Requests): RequestsOf {
  const differences = [...after.ofDriver].map(
    ([name, count]) => [name, count - (before.ofDriver.get(name) ?? 0)] as const,
  )
  const driver = Object.fromEntries(differences.filter(([, count]) => count > 0).toSorted(([, a], [, b]) => b - a))
  // Both are read one after the other, so a request that ends between them is only in one.
  return { driver, others: Math.max(0, after.total - before.total - sumOf(driver)) }
}

/** Returns the number of requests of all verbs and resources. */
export const sumOf = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

/** Counts the requests to the API server of a cluster. */
export class RequestCounter {
  readonly #cluster: FakeCluster
  readonly #agent: Agent
  readonly #ofDriver = new Map<string, number>()
  #readBytes = 0

  constructor(cluster: FakeCluster) {
    this.#cluster = cluster
    const read = (file: string) => readFileSync(join(cluster.pki, file))
    this.#agent = new Agent({ connect: { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') } })
  }

  /** @throws if the API server does not return its metrics */
  async read(): Promise<Requests> {
    const response = await fetch(`${this.#cluster.url}/metrics`, { dispatcher: this.#agent })
    if (!response.ok) throw new Error(`The API server responded with ${response.status} to a request for its metrics`)
    const totalCount = sumOfCounter(await response.text(), 'apiserver_request_total')
    for (const [name, count] of countRequests(this.#readNewLines()))
      this.#ofDriver.set(name, (this.#ofDriver.get(name) ?? 0) + count)
    return { ofDriver: new Map(this.#ofDriver), total: totalCount }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  /** Returns the complete lines that were written since the last call. */
  #readNewLines(): string {
    const file = openSync(this.#cluster.requestLog, 'r')
    try {
      const bytes = Buffer.alloc(fstatSync(file).size - this.#readBytes)
      readSync(file, bytes, 0, bytes.length, this.#readBytes)
      const end = bytes.lastIndexOf('\n') + 1
      this.#readBytes += end
      return bytes.toString('utf8', 0, end)
    } finally {
      closeSync(file)
    }
  }
}
