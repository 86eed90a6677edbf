import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Resources } from '../driver.ts'

/** More processes and threads than any squid needs, few enough that a fork bomb harms nobody else. */
export const MAX_PROCESSES = 512

/** Where a group of cgroups lives. JSON, because a later server may sit in another cgroup and must find the old ones. */
export type CgroupBase =
  { version: 1; memory: string; cpu: string; cpuacct: string; pids: string } | { version: 2; unified: string }

/** Null: not known. */
export type RunCounters = { cpuSeconds: number | null; throttledSeconds: number | null; oomKills: number | null }

/** Counters since the cgroup was made, `memoryBytes` of now (what is in use, without file cache that can be dropped). */
export type CgroupUsage = { cpuSeconds: number; throttledSeconds: number; memoryBytes: number; oomKills: number }

/** What differs between the two versions of the kernel's interface. */
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
