import { readlinkSync, realpathSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { listProcesses, signal } from '../process/processes.ts'

/** How long they may take to detect that the postmaster has ended. */
const endTimeoutMs = 3_000

/**
 * Kills remaining child processes of a killed postmaster, which would prevent a new one from starting. Only call while no postmaster
 * runs or can be started.
 */
export async function endOrphans(dataDir: string): Promise<void> {
  const untilMs = performance.now() + endTimeoutMs
  while (orphansOf(dataDir).length > 0 && performance.now() < untilMs) await pause(50)
  for (const pid of orphansOf(dataDir)) signal(pid, 'SIGKILL')
}

function orphansOf(dataDir: string): number[] {
  const real = realpathSync(dataDir)
  return listProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => {
      try {
        return (
          readlinkSync(`/proc/${pid}/cwd`) === real &&
          /\/postgres( \(deleted\))?$/.test(readlinkSync(`/proc/${pid}/exe`))
        )
      } catch {
        // It has exited, or belongs to another user.
        return false
      }
    })
}
