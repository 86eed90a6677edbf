import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { findProcess, listProcesses, signal } from '../process/processes.ts'
import { clusterMemoryReader } from './cluster-cgroup.ts'
import type { PostgresLimits } from './postgres-limits.ts'
import { postmasterOf, superuser } from './postgres-program.ts'

export type MemoryWatchOptions = {
  /** Directory of the cluster. */
  dir: string
  limits: Pick<PostgresLimits, 'memoryBytes'>
  log: (message: string) => void
}

/** Connections are ended at this share of the cgroup's limit, before the kernel kills a process and Postgres then ends all connections. */
const maxMemoryShare = 0.8
/** The upper bound of what one core can allocate. A sort allocates several hundred MB/s. */
const maxBytesPerSecondPerCore = 2e9
/** With a small limit, a sort fills the remaining 20 % in a fraction of a second. */
const minPollMs = 40
const maxPollMs = 250
/** The time that an ended connection has for releasing its memory before another one is ended. */
const releaseMs = 250

/**
 * Ends the tenant's connection that uses the most memory whenever the processes of the cluster together are close to the cluster's
 * limit, which many connections can reach although each of them is limited. Its client receives an SQL error; all other connections
 * continue. Never ends connections of the superuser, which Shoal uses. Does nothing if cgroups cannot be created.
 * @returns a function that stops watching
 */
export function watchMemory({ dir, limits, log }: MemoryWatchOptions): () => Promise<void> {
  const closing = new AbortController()
  const readMemory = clusterMemoryReader(dir)
  if (!readMemory) return () => Promise.resolve()
  const watch = async () => {
    let ended = { pid: 0, atMs: -Infinity }
    let pollMs = minPollMs
    const maxBytes = limits.memoryBytes * maxMemoryShare
    while (!closing.signal.aborted) {
      await pause(pollMs, undefined, { signal: closing.signal }).catch(() => undefined)
      const usedBytes = readMemory()
      pollMs = nextPollMs(maxBytes - (usedBytes ?? 0))
      if (usedBytes === null || usedBytes < maxBytes) continue
      if (performance.now() - ended.atMs < releaseMs && findProcess(ended.pid)) continue
      const largest = tenantConnectionToEnd(dir)
      if (largest === null) continue
      signal(largest.pid, 'SIGTERM')
      ended = { pid: largest.pid, atMs: performance.now() }
      log(
        `The Postgres in ${dir} uses ${megabytes(usedBytes)} of ${megabytes(limits.memoryBytes)} MB: its largest connection (${largest.about}, ${megabytes(largest.bytes)} MB) was ended.`,
      )
    }
  }
  const watching = watch()
  return async () => {
    closing.abort()
    await watching
  }
}

/**
 * Returns the delay until the next poll: the minimum time in which connections can allocate `bytes`, between `minPollMs` and
 * `maxPollMs`. Each poll costs CPU time, even if all squids are idle.
 */
function nextPollMs(bytes: number): number {
  const ms = (bytes / (availableParallelism() * maxBytesPerSecondPerCore)) * 1000
  return Math.min(maxPollMs, Math.max(minPollMs, ms))
}

const megabytes = (bytes: number) => Math.round(bytes / 1e6)

/** Returns the process of the tenants' connection that uses the most private memory. `about` contains the role and the database. */
function tenantConnectionToEnd(dir: string): { pid: number; bytes: number; about: string } | null {
  const postmaster = postmasterOf(join(dir, 'data'))
  const connections = listProcesses().flatMap(({ pid, parent }) => {
    if (parent !== postmaster) return []
    // Postgres names the process of a connection `postgres: role database address(port) activity`.
    const [, role, database] = /^postgres: (\S+) (\S+) [\d.:a-f]+\(\d+\)/.exec(readText(`/proc/${pid}/cmdline`)) ?? []
    const bytes = Number(/^RssAnon:\s+(\d+) kB/m.exec(readText(`/proc/${pid}/status`))?.[1] ?? 0) * 1024
    return role && role !== superuser ? [{ pid, bytes, about: `role ${role}, database ${database}` }] : []
  })
  return connections.reduce<(typeof connections)[number] | null>(
    (largest, connection) => (largest === null || connection.bytes > largest.bytes ? connection : largest),
    null,
  )
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
