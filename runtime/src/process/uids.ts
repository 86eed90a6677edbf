import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { errorCode } from '../error-code.ts'

/** Above the uids of users and daemons, below those that user namespaces usually map. */
const FIRST_UID = 200_000

/**
 * The permanent uid of `key`, allocated on first use. Reads and writes synchronously, so that concurrent callers in one server
 * cannot get the same uid.
 */
export function uidFor(file: string, key: string): number {
  const uids = readUids(file)
  const known = Object.hasOwn(uids, key) ? uids[key] : undefined
  if (known !== undefined) return known
  const uid = Math.max(FIRST_UID - 1, ...Object.values(uids)) + 1
  writeFileSync(`${file}.new`, JSON.stringify({ ...uids, [key]: uid }), { mode: 0o600 })
  renameSync(`${file}.new`, file)
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
