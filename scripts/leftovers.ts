import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

type Process = { pid: number; commandLine: string }

/**
 * The processes that have to do with a folder, whoever their parent is now: it stands in their environment (as TMPDIR) or in
 * their command line, or they work in it. Only Linux tells; elsewhere there are none to be seen.
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
      // Gone since it was listed, or another user's.
      return []
    }
  })
}

/** Ends by force what has to do with the folder, and answers what that was. */
export function endProcessesOf(folder: string): Process[] {
  const found = findProcessesOf(folder)
  for (const { pid } of found) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended by itself in the meantime.
    }
  }
  return found
}

/** Gives what is just ending five seconds, then ends the rest by force, and answers what that was. */
export async function endLeftovers(folder: string): Promise<Process[]> {
  const deadline = performance.now() + 5000
  while (findProcessesOf(folder).length > 0 && performance.now() < deadline) await delay(100)
  return endProcessesOf(folder)
}
