import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

type Process = { pid: number; commandLine: string }

/**
 * Returns the processes that use a folder, regardless of their parent: it is in their environment (as TMPDIR) or command line, or is
 * their working folder. Linux only; empty on other systems.
 */
function findProcessesOf(folder: string): Process[] {
  if (!existsSync('/proc/self/environ')) return []
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.flatMap((pid) => {
    try {
      const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      const traces = [commandLine, readFileSync(`/proc/${pid}/environ`, 'utf8'), readlinkSync(`/proc/${pid}/cwd`)]
      return pid !== process.pid && traces.some((trace) => trace.includes(folder)) ? [{ pid, commandLine }] : []
    } catch {
      // It has already ended, or belongs to another user.
      return []
    }
  })
}

/** Kills the processes that use the folder, and returns them. */
export function endProcessesOf(folder: string): Process[] {
  const found = findProcessesOf(folder)
  for (const { pid } of found) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has already ended.
    }
  }
  return found
}

/** Waits five seconds for the processes that use the folder to end, then kills the rest and returns them. */
export async function endLeftovers(folder: string): Promise<Process[]> {
  const deadline = performance.now() + 5000
  while (findProcessesOf(folder).length > 0 && performance.now() < deadline) await delay(100)
  return endProcessesOf(folder)
}
