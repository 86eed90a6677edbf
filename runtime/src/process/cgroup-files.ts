import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Resources } from '../driver.ts'

/** Maximum number of processes and threads: more than any squid needs, but low enough to contain fork bombs. */
export const MAX_PROCESSES = 512

/** Location of the cgroups. Stored as JSON, since a later server may run in another cgroup but must find the existing cgroups. */
export type CgroupBase =
  { version: 1; memory: string; cpu: string; cpuacct: string; pids: string } | { version: 2; unified: string }

/** Counters of one run. Null means unknown. */
export type RunCounters = { cpuSeconds: number | null; throttledSeconds: number | null; oomKills: number | null }

/** Counters since the creation of the cgroup, and its current memory without reclaimable file cache. */
export type CgroupUsage = { cpuSeconds: number; throttledSeconds: number; memoryBytes: number; oomKills: number }

/** A cgroup, in either version of the kernel's interface. */
export type CgroupFiles = {
  dirs: string[]
  setLimits(resources: Resources): void
  forbidForks(): void
  usage(): CgroupUsage
}

export function readNumber(dir: string, file: string): number {
  return Number(readFileSync(join(dir, file), 'utf8'))
}

/** Reads the kernel's `key value` lines. */
export function readPairs(dir: string, file: string): Map<string, number> {
  const pairs = new Map<string, number>()
  for (const line of readFileSync(join(dir, file), 'utf8').split('\n')) {
    const space = line.indexOf(' ')
    if (space > 0) pairs.set(line.slice(0, space), Number(line.slice(space + 1)))
  }
  return pairs
}
