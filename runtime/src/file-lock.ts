import { chownSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { errorCode } from './error-code.ts'

/** A lock, held until `release` is called or the process ends. */
export type FileLock = { release: () => void }

/** The connections that hold locks. Without these references, garbage collection would close them and release the locks. */
const openConnections = new Set<DatabaseSync>()

/** Error code of SQLite when another connection holds the lock. */
const SQLITE_BUSY = 5

const retryMs = 20

/**
 * Acquires a lock on `file`, which is created if needed and stays empty. Child processes do not inherit the lock. Any number of
 * processes may share it, or one may hold it exclusively. Node itself cannot acquire the kernel's record locks, but SQLite can. The
 * process must not open the file elsewhere: closing it would release the lock.
 * @returns null when another process, or other code of this one, holds it
 */
export function tryFileLock(file: string, mode: 'shared' | 'exclusive'): FileLock | null {
  createFile(file)
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    // Nothing is written, so no journal file is needed.
    db.exec('pragma journal_mode = memory')
    db.exec(mode === 'exclusive' ? 'begin exclusive' : 'begin; select 1 from sqlite_schema')
  } catch (error) {
    db.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return null
    throw new Error(`${file} cannot be locked: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
  openConnections.add(db)
  return {
    release: () => {
      if (openConnections.delete(db)) db.close()
    },
  }
}

/** Retries `tryFileLock` until it succeeds; null after `timeoutMs`. Retrying is also needed when two concurrent attempts both fail. */
export async function waitForFileLock(
  file: string,
  mode: 'shared' | 'exclusive',
  timeoutMs: number,
): Promise<FileLock | null> {
  const deadlineMs = performance.now() + timeoutMs
  for (;;) {
    const lock = tryFileLock(file, mode)
    if (lock || performance.now() >= deadlineMs) return lock
    await pause(retryMs * (0.5 + Math.random()))
  }
}

/**
 * Creates the file readable only by its owner, since any reader could hold the lock. If this process is root, the owner of the folder
 * also owns the file.
 */
function createFile(file: string): void {
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
