import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { findProcess } from '../process/processes.ts'
import { errorCode } from '../error-code.ts'
import { TreeTasks } from './tree-tasks.ts'

/**
 * Temporary folders, from which finished files are moved into place atomically. The name of a folder identifies the process that
 * created it, which distinguishes the leftovers of a killed server from folders in use.
 */
export type Staging = {
  dir: string
  /** Creates an empty folder that only the server can access. Its name is a single word, unique on this host. */
  make(): Promise<{ name: string; path: string }>
  /** Moves `path` into the staging folder and deletes it later in the background. Ignores a missing path. */
  discard(path: string): Promise<void>
  /** Returns the owners whose process no longer exists. The owner is the part of a name before its last dot. */
  deadOwners(): Promise<string[]>
  /** Deletes all folders of `owner`. */
  discardAllOf(owner: string): Promise<void>
}

export async function openStaging(dir: string, removeAfterMs = 0): Promise<Staging> {
  await mkdir(dir, { recursive: true, mode: 0o711 })
  const owner = ownerName(process.pid)
  // A separate thread, so that builds do not wait for deletions.
  const removals = new TreeTasks()
  let count = 0
  const nextName = () => `${owner}.${(count += 1)}-${Date.now().toString(36)}`
  const staging: Staging = {
    dir,
    async make() {
      const name = nextName()
      const path = join(dir, name)
      await mkdir(path, { mode: 0o700 })
      return { name, path }
    },
    async discard(path) {
      const trash = join(dir, nextName())
      try {
        await rename(path, trash)
        // The build's user may have had access to the content.
        await chmod(trash, 0o700)
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

/** Moves the folder `path` to `target`. Does nothing if `target` already exists. */
export async function moveIntoPlace(path: string, target: string): Promise<void> {
  try {
    await rename(path, target)
  } catch (error) {
    const alreadyExists = errorCode(error) === 'ENOTEMPTY' || errorCode(error) === 'EEXIST'
    if (!alreadyExists) {
      throw error
    }
  }
}

/** Includes the start time of the process, since pids are reused. */
function ownerName(pid: number): string {
  const startedAt = findProcess(pid)?.startedAt ?? ''
  return `${pid}-${createHash('sha256').update(startedAt).digest('hex').slice(0, 8)}`
}

function isAlive(owner: string): boolean {
  const pid = Number.parseInt(owner, 10)
  return findProcess(pid) !== null && ownerName(pid) === owner
}
