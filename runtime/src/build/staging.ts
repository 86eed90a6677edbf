import { createHash } from 'node:crypto'
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { findProcess } from '../process/processes.ts'
import { errorCode } from '../error-code.ts'
import { TreeTasks } from './tree-tasks.ts'

/**
 * Folders in which things are made before they are moved to their place in one step. Each is named after the process that
 * made it, so that another one can tell what a killed server left behind from what is still being worked on.
 */
export type Staging = {
  dir: string
  /** A new empty folder. Its name is one word, unique on this host for ever. */
  make(): Promise<{ name: string; path: string }>
  /** `path` is gone at once; what was in it is deleted some time later, in the background. Gone is fine. */
  discard(path: string): Promise<void>
  /** Names of the owners (the part of a name before its last dot) whose process is gone. */
  deadOwners(): Promise<string[]>
  /** Deletes everything of `owner`. */
  discardAllOf(owner: string): Promise<void>
}

/** What a server leaves undeleted is found again by `deadOwners` of the next. */
export async function openStaging(dir: string, removeAfterMs = 0): Promise<Staging> {
  await mkdir(dir, { recursive: true, mode: 0o711 })
  const owner = ownerName(process.pid)
  // A thread of its own: a build does not wait for the end of what others left.
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
      const doomed = join(dir, next())
      try {
        await rename(path, doomed)
      } catch (error) {
        if (errorCode(error) === 'ENOENT') {
          return
        }
        throw error
      }
      setTimeout(() => void removals.remove(doomed).catch(() => undefined), removeAfterMs).unref()
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

/** The pid alone would soon name another process. */
function ownerName(pid: number): string {
  const startedAt = findProcess(pid)?.startedAt ?? ''
  return `${pid}-${createHash('sha256').update(startedAt).digest('hex').slice(0, 8)}`
}

function isAlive(owner: string): boolean {
  const pid = Number.parseInt(owner, 10)
  return findProcess(pid) !== null && ownerName(pid) === owner
}
