import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'

/** A running process as the kernel tells it. `startedAt` (an opaque text) together with the pid names it for ever. */
export type ProcessInfo = {
  pid: number
  parent: number
  session: number
  startedAt: string
  cpuSeconds: number
  memoryBytes: number
}

/** Ticks a second and bytes a page of Linux on the machines Node runs on. */
const TICKS = 100
const PAGE_BYTES = 4096

const hasProc = process.platform === 'linux'

/** Null when there is no such process, or only its corpse. */
export function findProcess(pid: number): ProcessInfo | null {
  if (!hasProc) return listProcesses().find((info) => info.pid === pid) ?? null
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return null
  }
}

/** True when the very process that had `pid` then is still there, not a later one with the same number. */
export function isSameProcess(pid: number, startedAt: string): boolean {
  return findProcess(pid)?.startedAt === startedAt
}

/** Everything that runs. Reads all of /proc: for stopping, and for hosts without cgroups. */
export function listProcesses(): ProcessInfo[] {
  if (!hasProc) return listByPs()
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.map(findProcess).filter((info) => info !== null)
}

/** What a process was started with; empty when it is gone or not ours to read. */
export function startEnvironment(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** The program and its arguments; empty when it is gone or not ours to read. */
export function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** Signals one process; gone is fine. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It ended between the look and the signal.
  }
}

/** proc(5): the name in parentheses may hold anything, so fields are counted after the last one. */
function parseStat(stat: string): ProcessInfo | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (number: number) => Number(fields[number - 3])
  if (fields[0] === 'Z' || fields[0] === 'X') return null
  return {
    pid: Number.parseInt(stat, 10),
    parent: field(4),
    session: field(6),
    startedAt: `${bootId()}:${field(22)}`,
    cpuSeconds: (field(14) + field(15)) / TICKS,
    memoryBytes: field(24) * PAGE_BYTES,
  }
}

let knownBootId: string | undefined

/** Start times count from boot: after a reboot the same numbers mean other processes. */
function bootId(): string {
  knownBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return knownBootId
}

function listByPs(): ProcessInfo[] {
  const lines = execFileSync('ps', ['-axo', 'pid=,ppid=,sess=,rss=,time=,lstart='], { encoding: 'utf8' }).split('\n')
  return lines.filter(Boolean).map((line) => {
    const [pid, parent, session, rss, time = '', ...start] = line.trim().split(/\s+/)
    const cpuSeconds = time.split(':').reduce((total, part) => total * 60 + Number(part), 0)
    const memoryBytes = Number(rss) * 1024
    return {
      pid: Number(pid),
      parent: Number(parent),
      session: Number(session),
      startedAt: start.join(' '),
      cpuSeconds,
      memoryBytes,
    }
  })
}
