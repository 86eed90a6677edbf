import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { PLAIN_ENV } from './sandbox.ts'

/** A running process. The pid and `startedAt` (an opaque string) together identify it permanently. */
export type ProcessInfo = {
  pid: number
  parent: number
  session: number
  startedAt: string
  cpuSeconds: number
  memoryBytes: number
}

/** Clock ticks per second and page size of Linux on platforms that Node supports. */
const TICKS_PER_SECOND = 100
const PAGE_BYTES = 4096

const hasProc = process.platform === 'linux'

/** Returns a process; null if it does not exist or is a zombie. */
export function findProcess(pid: number): ProcessInfo | null {
  if (!hasProc) return listProcesses().find((info) => info.pid === pid) ?? null
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return null
  }
}

/** True when the process is still running and `pid` was not reused. */
export function isSameProcess(pid: number, startedAt: string): boolean {
  return findProcess(pid)?.startedAt === startedAt
}

/** Lists all processes of the host. Expensive, since it reads all of /proc. */
export function listProcesses(): ProcessInfo[] {
  if (!hasProc) return listWithPs()
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.map(findProcess).filter((info) => info !== null)
}

/** Returns the initial environment of a process; empty when it has exited or is not readable. */
export function initialEnvironment(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** Returns the program of a process and its arguments; empty when it has exited or is not readable. */
export function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/**
 * True for a process in its own PID namespace, as programs in a sandbox are, and for one that has exited. Programs choose their own
 * command lines, so a search for the server's processes by command line must exclude these processes.
 */
export function isInSandbox(pid: number): boolean {
  try {
    return /^NSpid:\t\d+\t/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return true
  }
}

/** Signals one process; ignores exited processes. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process exited before the signal.
  }
}

/** See proc(5). The name in parentheses may contain any character, so fields are counted after the last parenthesis. */
function parseStat(stat: string): ProcessInfo | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (number: number) => Number(fields[number - 3])
  if (fields[0] === 'Z' || fields[0] === 'X') return null
  return {
    pid: Number.parseInt(stat, 10),
    parent: field(4),
    session: field(6),
    startedAt: `${bootId()}:${field(22)}`,
    cpuSeconds: (field(14) + field(15)) / TICKS_PER_SECOND,
    memoryBytes: field(24) * PAGE_BYTES,
  }
}

let cachedBootId: string | undefined

/** Start times are relative to boot, so the boot id is needed to identify processes across reboots. */
function bootId(): string {
  cachedBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return cachedBootId
}

function listWithPs(): ProcessInfo[] {
  const lines = execFileSync('ps', ['-axo', 'pid=,ppid=,sess=,rss=,time=,lstart='], {
    env: PLAIN_ENV,
    encoding: 'utf8',
  }).split('\n')
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
