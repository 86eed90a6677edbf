import { chownSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { errorCode } from './error-code.ts'

/** Lives as long as its process, however that ends: the kernel gives the lock back. */
export type FileLock = { release: () => void }

/** A connection that is collected as garbage would give its lock back. */
const held = new Set<DatabaseSync>()

/** What SQLite answers when another connection holds the lock. */
const SQLITE_BUSY = 5

const retryMs = 20

/**
 * Takes a lock on `file`, which is made when it is missing and stays empty. Children do not inherit it.
 * Any number of processes may share it, or one may hold it exclusively. SQLite takes the kernel's record locks, which Node itself
 * does not offer. Nothing else may open the file: closing it would give up the locks of the process.
 * @returns null when another process, or another part of this one, holds it
 */
export function tryFileLock(file: string, mode: 'shared' | 'exclusive'): FileLock | null {
  makeFile(file)
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    // Nothing is ever written: no journal is needed beside the file.
    db.exec('pragma journal_mode = memory')
    db.exec(mode === 'exclusive' ? 'begin exclusive' : 'begin; select 1 from sqlite_schema')
  } catch (error) {
    db.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return null
    throw new Error(`${file} cannot be locked: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
  held.add(db)
  return {
    release: () => {
      if (held.delete(db)) db.close()
    },
  }
}

/** Tries until it has the lock or `withinMs` have passed; of two that try at the same instant both may be refused once. */
export async function waitForFileLock(
  file: string,
  mode: 'shared' | 'exclusive',
  withinMs: number,
): Promise<FileLock | null> {
  const deadlineMs = performance.now() + withinMs
  for (;;) {
    const lock = tryFileLock(file, mode)
    if (lock || performance.now() >= deadlineMs) return lock
    await pause(retryMs * (0.5 + Math.random()))
  }
}

/** Only its owner may open it: a reader could hold it for ever. Root leaves it to whom the folder belongs. */
function makeFile(file: string): void {
  if (existsSync(file)) return
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return
    throw error
  }
  const { uid, gid } = statSync(dirname(file))
  if (process.getuid?.() === 0 && uid !== 0) chownSync(file, uid, gid)
}
