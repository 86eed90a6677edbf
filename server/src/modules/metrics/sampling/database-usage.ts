import { readFile } from 'node:fs/promises'
import type { Database } from '../../../db/database.ts'
import { listBackends, readOwnBackend, type Backend } from './sample-store.ts'

/** The usage of one database. */
export type DatabaseUsage = {
  /** CPU time that its connections' processes used since the first measurement, up to the last observation of each process. */
  cpuSeconds: number
  /** Private memory of its connections' processes; the shared cache belongs to no database. */
  memoryBytes: number
}

/** `USER_HZ` of Linux: the unit of times in /proc on all architectures. */
const ticksPerSecond = 100

type BackendUsage = { database: string; cpuSeconds: number }

/**
 * Measures the CPU and memory usage of databases through the processes that serve their connections, because Postgres does not count CPU
 * time. Works only if Postgres runs on this Linux host.
 */
export class DatabaseMeter {
  readonly #cluster: Database
  #observed: Map<string, BackendUsage> | null = null
  readonly #cpuSeconds = new Map<string, number>()

  constructor(cluster: Database) {
    this.#cluster = cluster
  }

  /** Returns the usage by database; null if Postgres does not run on this host. @throws Error if Postgres does not respond */
  async measure(databases: string[]): Promise<Map<string, DatabaseUsage> | null> {
    const backends = await listBackends(this.#cluster)
    if (!(await this.#isLocal())) return null
    const isFirst = this.#observed === null
    const observed = new Map<string, BackendUsage>()
    const usage = new Map(databases.map((name) => [name, { cpuSeconds: 0, memoryBytes: 0 }]))
    for (const { pid, database } of backends) {
      const total = usage.get(database)
      const process = total && (await readProcess(pid))
      if (!process) continue
      const key = `${pid} ${process.startedTicks}`
      observed.set(key, { database, cpuSeconds: process.cpuSeconds })
      // A process that started after the last measurement did all of its work since then.
      const before = this.#observed?.get(key)?.cpuSeconds ?? (isFirst ? process.cpuSeconds : 0)
      this.#cpuSeconds.set(database, (this.#cpuSeconds.get(database) ?? 0) + process.cpuSeconds - before)
      total.memoryBytes += process.privateBytes
    }
    this.#observed = observed
    for (const [name, total] of usage) total.cpuSeconds = this.#cpuSeconds.get(name) ?? 0
    return usage
  }

  /** Whether Postgres runs on this host: the pid and start time of this connection's process match a local process. */
  async #isLocal(): Promise<boolean> {
    const ownBackend: Backend & { startedMs: number } = await readOwnBackend(this.#cluster)
    const process = await readProcess(ownBackend.pid)
    const bootedSeconds = Number(/^btime (\d+)$/m.exec(await readText('/proc/stat'))?.[1] ?? Number.NaN)
    if (!process || Number.isNaN(bootedSeconds)) return false
    const startedMs = (bootedSeconds + process.startedTicks / ticksPerSecond) * 1000
    return Math.abs(startedMs - ownBackend.startedMs) < 5_000
  }
}

const readText = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')

async function readProcess(pid: number) {
  const [stat, status] = await Promise.all([readText(`/proc/${pid}/stat`), readText(`/proc/${pid}/status`)])
  // The program's name, in parentheses, may contain anything; the numbers follow it.
  const numbers = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
  const privateKilobytes = /^RssAnon:\s+(\d+)/m.exec(status)?.[1]
  if (numbers.length < 20 || privateKilobytes === undefined) return null
  return {
    cpuSeconds: (Number(numbers[11]) + Number(numbers[12])) / ticksPerSecond,
    startedTicks: Number(numbers[19]),
    privateBytes: Number(privateKilobytes) * 1024,
  }
}
