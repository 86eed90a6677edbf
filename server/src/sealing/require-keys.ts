// Reads tables of other modules: signing_keys. Checks the keys before any module is opened.

import type { Database } from '../db/database.ts'
import type { KeyRing } from './key-ring.ts'

/** The database is sealed with keys that this process does not have. The message contains instructions for the operator. */
export class MissingKeys extends Error {
  override name = 'MissingKeys'
}

/**
 * Checks that the keys of this installation are present, so that a server without them (for example after an incomplete restore) does
 * not start and then fail on every request. Checks the keys that sign sessions, which exist since the first sign-in.
 * @throws MissingKeys if a key is missing
 */
export async function requireKeys({ pool }: Database, ring: KeyRing, location: string): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    `select distinct split_part(sealed_key, ':', 2) as id from signing_keys order by id`,
  )
  const missing = rows.map(({ id }) => id).filter((id) => !ring.keys().some((key) => key.id === id))
  if (missing.length === 0) return
  throw new MissingKeys(
    `The database is sealed with a key that is not in ${location}: ${missing.join(', ')}. Restore this installation's keys there from your copy, and start again.`,
  )
}
