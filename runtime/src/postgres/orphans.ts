import { readlinkSync, realpathSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { listProcesses, signal } from '../process/processes.ts'

/** How long the processes may take to detect that the postmaster has ended. */
const endTimeoutMs = 3_000

/**
 * Kills remaining child processes of a killed postmaster, which would prevent a new one from starting. Only call this while no
 * postmaster is running and none can be started.
 */
export async function endOrphans(dataDir: string): Promise<void> {
  const deadlineMs = performance.now() + endTimeoutMs
  while (orphansOf(dataDir).length > 0 && performance.now() < deadlineMs) await pause(50)
  for (const pid of orphansOf(dataDir)) signal(pid, 'SIGKILL')
}

function orphansOf(dataDir: string): number[] {
  const realDir = realpathSync(dataDir)
  return listProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => {
      try {
        return (
          readlinkSync(`/proc/${pid}/cwd`) === realDir &&
          /\/postgres( \(deleted\))?$/.test(readlinkSync(`/proc/${pid}/exe`))
        )
      } catch {
        // The process has exited, or belongs to another user.
        return false
      }
    })
}
