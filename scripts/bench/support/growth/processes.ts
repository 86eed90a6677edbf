import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPostmaster } from '../../../../e2e/support/postgres.ts'

/** The unit of times in /proc (`USER_HZ`), which is the same on all Linux systems. */
const ticksPerSecond = 100

/** CPU time and memory of processes. */
export type Usage = { cpuSeconds: number; memoryMb: number }

type Stat = { parent: number; ownTicks: number; endedChildrenTicks: number }

function statOf(pid: number): Stat | null {
  try {
    // The numbers follow the program's name, which is in parentheses and may contain any character.
    const numbers = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ').map(Number) ?? []
    const [, parent = 0] = numbers
    const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = numbers.slice(11, 15)
    return { parent, ownTicks: user + system, endedChildrenTicks: childrenUser + childrenSystem }
  } catch {
    // The process has ended.
    return null
  }
}

/** Returns the memory of a process, with its share of the pages that it shares with others. */
function memoryMbOf(pid: number): number {
  try {
    const kilobytes = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]
    return Number(kilobytes ?? 0) / 1024
  } catch {
    return 0
  }
}

/** Returns the pid that the active worker has recorded. In the benchmark, one process has all roles. */
export const serverPid = (dataDir: string): number =>
  (JSON.parse(readFileSync(join(dataDir, 'locks/worker.json'), 'utf8')) as { pid: number }).pid

/** Measures a process. */
export const usageOf = (pid: number): Usage => ({
  cpuSeconds: (statOf(pid)?.ownTicks ?? 0) / ticksPerSecond,
  memoryMb: memoryMbOf(pid),
})

/** Measures the server. */
export const serverUsage = (dataDir: string): Usage => usageOf(serverPid(dataDir))

/** Measures all processes of both embedded Postgres clusters, including those of connections that have ended. */
export function postgresUsage(dataDir: string): Usage {
  const postmasters = (['postgres', 'postgres-squids'] as const).flatMap((name) => findPostmaster(dataDir, name) ?? [])
  const pids = existsSync('/proc') ? readdirSync('/proc').map(Number).filter(Number.isInteger) : []
  let [ticks, memoryMb] = [0, 0]
  for (const pid of pids) {
    const stat = statOf(pid)
    const isPostmaster = postmasters.includes(pid)
    if (!stat || !(isPostmaster || postmasters.includes(stat.parent))) continue
    ticks += stat.ownTicks + (isPostmaster ? stat.endedChildrenTicks : 0)
    memoryMb += memoryMbOf(pid)
  }
  return { cpuSeconds: ticks / ticksPerSecond, memoryMb }
}
