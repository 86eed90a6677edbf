import type { Database } from '../db/database.ts'
import type { KeyRing } from './key-ring.ts'

/** For the operator to mend; its message says how. */
export class MissingKeys extends Error {
  override name = 'MissingKeys'
}

/**
 * Refuses to begin without the keys of this installation, rather than to answer everybody with an error: after a restore without
 * them, or with another installation's. The keys that sign sessions tell, which are there since somebody signed in first.
 * @throws MissingKeys
 */
export async function requireKeys({ pool }: Database, ring: KeyRing, whereKeysAre: string): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    `select distinct split_part(sealed_key, ':', 2) as id from signing_keys order by id`,
  )
  const missing = rows.map(({ id }) => id).filter((id) => !ring.keys().some((key) => key.id === id))
  if (missing.length === 0) return
  throw new MissingKeys(
    `The database is sealed with a key that is not in ${whereKeysAre}: ${missing.join(', ')}. Put this installation's keys there, from where their copy is kept, and start again.`,
  )
}
