import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

type Process = { pid: number; commandLine: string }

/**
 * Returns the processes that use one of the folders, regardless of their parent: processes with a folder in their environment (as TMPDIR)
 * or command line, or as their working folder. Returns no processes on systems other than Linux.
 */
function findProcessesOf(folders: string[]): Process[] {
  if (!existsSync('/proc/self/environ')) return []
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.flatMap((pid) => {
    try {
      const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      const usages = [commandLine, readFileSync(`/proc/${pid}/environ`, 'utf8'), readlinkSync(`/proc/${pid}/cwd`)]
      const hasFolder = folders.some((folder) => usages.some((usage) => usage.includes(folder)))
      return pid !== process.pid && hasFolder ? [{ pid, commandLine }] : []
    } catch {
      // The process has already ended, or belongs to another user.
      return []
    }
  })
}

/** Kills the processes that use one of the folders, and returns them. */
export function endProcessesOf(...folders: string[]): Process[] {
  const processes = findProcessesOf(folders)
  for (const { pid } of processes) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has already ended.
    }
  }
  return processes
}

/** Waits up to five seconds for the processes that use one of the folders to end, then kills the remaining ones and returns them. */
export async function endLeftovers(...folders: string[]): Promise<Process[]> {
  const deadline = performance.now() + 5000
  while (findProcessesOf(folders).length > 0 && performance.now() < deadline) await delay(100)
  return endProcessesOf(...folders)
}
