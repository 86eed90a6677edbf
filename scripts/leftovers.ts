import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Processes which a run started carry this variable, with the run's own value, in whatever group or session they are. */
export const markName = 'SHOAL_TEST_RUN'

type Process = { pid: number; commandLine: string }

/** The processes marked with `mark`. Only Linux shows the environment of others; elsewhere there are none to be seen. */
export function findMarked(mark: string): Process[] {
  if (!existsSync('/proc/self/environ')) return []
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.flatMap((pid) => {
    try {
      const isMarked = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${markName}=${mark}`)
      if (!isMarked) return []
      return [{ pid, commandLine: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() }]
    } catch {
      // Gone since it was listed, or another user's.
      return []
    }
  })
}

/** Ends by force what is marked with `mark` and answers what that was. */
export function endMarked(mark: string): Process[] {
  const marked = findMarked(mark)
  for (const { pid } of marked) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended by itself in the meantime.
    }
  }
  return marked
}

/** Waits for what is just ending, at most five seconds, then ends the rest by force and answers what that was. */
export async function endLeftovers(mark: string): Promise<Process[]> {
  const deadline = performance.now() + 5000
  while (findMarked(mark).length > 0 && performance.now() < deadline) await delay(100)
  return endMarked(mark)
}
