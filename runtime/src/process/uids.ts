import { readFileSync } from 'node:fs'
import { errorCode } from '../error-code.ts'
import { type FileLock, tryFileLock } from '../file-lock.ts'
import { replaceFile } from './replace-file.ts'

/** The first uid of squids, above the uids of users and daemons. */
const FIRST_UID = 200_000
const UIDS_PER_INSTALLATION = 100_000

/** Returns the first and last uid of the installation with this number. */
export function uidRangeOf(number: number): { first: number; last: number } {
  const first = FIRST_UID + number * UIDS_PER_INSTALLATION
  return { first, last: first + UIDS_PER_INSTALLATION - 1 }
}

/**
 * Returns the permanent uid of `key`. Allocates it on first use from the range of the installation with this number, and replaces a
 * recorded uid outside of the range, which another installation may use. Synchronous, and locks the file while it allocates, so that
 * concurrent callers cannot get the same uid, in one server or in several processes that start at the same time.
 */
export function uidFor(file: string, key: string, number = 0): number {
  const range = uidRangeOf(number)
  const recorded = recordedUid(readUids(file), key, range)
  if (recorded !== null) return recorded
  const lock = lockUids(file)
  try {
    return allocate(file, key, range)
  } finally {
    lock.release()
  }
}

type Range = ReturnType<typeof uidRangeOf>

const isIn = ({ first, last }: Range, uid: number): boolean => uid >= first && uid <= last

function recordedUid(uids: Record<string, number>, key: string, range: Range): number | null {
  const uid = Object.hasOwn(uids, key) ? uids[key] : undefined
  return uid !== undefined && isIn(range, uid) ? uid : null
}

function allocate(file: string, key: string, range: Range): number {
  const uids = readUids(file)
  // Another process may have allocated a uid for this key since the caller read the file.
  const recorded = recordedUid(uids, key, range)
  if (recorded !== null) return recorded
  const uid = Math.max(range.first - 1, ...Object.values(uids).filter((one) => isIn(range, one))) + 1
  if (!isIn(range, uid)) throw new Error(`All ${UIDS_PER_INSTALLATION} uids of this installation are in use (${file})`)
  replaceFile(file, JSON.stringify({ ...uids, [key]: uid }))
  return uid
}

const LOCK_MS = 20_000
const RETRY_MS = 5

function lockUids(file: string): FileLock {
  const deadlineMs = performance.now() + LOCK_MS
  for (;;) {
    const lock = tryFileLock(`${file}.lock`, 'exclusive')
    if (lock) return lock
    if (performance.now() > deadlineMs) throw new Error(`${file}.lock is locked by another program`)
    // Blocks the thread: another process holds the lock for a millisecond.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
  }
}

function readUids(file: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return {}
    throw new Error(`${file} is damaged: restore it from a backup, or remove it while no squid runs`, { cause: error })
  }
}
