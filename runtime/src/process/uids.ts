import { readFileSync } from 'node:fs'
import { errorCode } from '../error-code.ts'
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
 * recorded uid outside of the range, which another installation may use. Reads and writes synchronously, so that concurrent callers
 * in one server cannot get the same uid.
 */
export function uidFor(file: string, key: string, number = 0): number {
  const uids = readUids(file)
  const { first, last } = uidRangeOf(number)
  const isInRange = (uid: number) => uid >= first && uid <= last
  const recorded = Object.hasOwn(uids, key) ? uids[key] : undefined
  if (recorded !== undefined && isInRange(recorded)) return recorded
  const uid = Math.max(first - 1, ...Object.values(uids).filter(isInRange)) + 1
  if (!isInRange(uid)) throw new Error(`All ${UIDS_PER_INSTALLATION} uids of this installation are in use (${file})`)
  replaceFile(file, JSON.stringify({ ...uids, [key]: uid }))
  return uid
}

function readUids(file: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return {}
    throw new Error(`${file} is damaged: restore it from a backup, or remove it while no squid runs`, { cause: error })
  }
}
