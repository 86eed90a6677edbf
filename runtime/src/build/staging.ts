import { createHash } from 'node:crypto'
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { findProcess } from '../process/processes.ts'
import { errorCode } from '../error-code.ts'
import { TreeTasks } from './tree-tasks.ts'

/**
 * Temporary folders for files that are then moved into place atomically. Each is named after the process that created it, so that
 * leftovers of a killed server can be distinguished from folders in use.
 */
export type Staging = {
  dir: string
  /** Creates an empty folder. Its name is one word, unique on this host. */
  make(): Promise<{ name: string; path: string }>
  /** Removes `path` immediately and deletes its content later in the background. A missing path is no error. */
  discard(path: string): Promise<void>
  /** Owners (the part of a name before its last dot) whose process no longer exists. */
  deadOwners(): Promise<string[]>
  /** Deletes everything of `owner`. */
  discardAllOf(owner: string): Promise<void>
}

/** Folders left by a killed server are found by `deadOwners`. */
export async function openStaging(dir: string, removeAfterMs = 0): Promise<Staging> {
  await mkdir(dir, { recursive: true, mode: 0o711 })
  const owner = ownerName(process.pid)
  // A separate thread, so that builds do not wait for deletions.
  const removals = new TreeTasks()
  let made = 0
  const next = () => `${owner}.${(made += 1)}-${Date.now().toString(36)}`
  const staging: Staging = {
    dir,
    async make() {
      const name = next()
      const path = join(dir, name)
      await mkdir(path, { mode: 0o711 })
      return { name, path }
    },
    async discard(path) {
      const trash = join(dir, next())
      try {
        await rename(path, trash)
      } catch (error) {
        if (errorCode(error) === 'ENOENT') {
          return
        }
        throw error
      }
      setTimeout(() => void removals.remove(trash).catch(() => undefined), removeAfterMs).unref()
    },
    async deadOwners() {
      const owners = new Set((await readdir(dir)).map((name) => name.slice(0, name.lastIndexOf('.'))))
      return [...owners].filter((name) => !isAlive(name))
    },
    async discardAllOf(dead) {
      const names = (await readdir(dir)).filter((name) => name.startsWith(`${dead}.`))
      await Promise.all(names.map((name) => removals.remove(join(dir, name))))
    },
  }
  return staging
}

/** Contains the start time, since pids are reused. */
function ownerName(pid: number): string {
  const startedAt = findProcess(pid)?.startedAt ?? ''
  return `${pid}-${createHash('sha256').update(startedAt).digest('hex').slice(0, 8)}`
}

function isAlive(owner: string): boolean {
  const pid = Number.parseInt(owner, 10)
  return findProcess(pid) !== null && ownerName(pid) === owner
}
