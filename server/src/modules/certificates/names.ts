import type { Db } from '../../db/database.ts'
import { deleteName, insertNames, selectCertificates } from './store.ts'

/** Keeps a certificate for a name of an organization: orders it, unless there is one, and renews it. */
export const keepName = (db: Db, name: string, now: Date): Promise<void> => insertNames(db, [name], false, now)

/** Deletes the certificate of an organization's name, which is then refused in handshakes. */
export const dropName = (db: Db, name: string): Promise<void> => deleteName(db, name)

/** Returns for each name whether it has a certificate, and why its last order failed. */
export async function certificateStates(
  db: Db,
  names: string[],
): Promise<Map<string, { isIssued: boolean; lastError: string | null }>> {
  const rows = names.length === 0 ? [] : await selectCertificates(db, names)
  return new Map(rows.map(({ name, chain, lastError }) => [name, { isIssued: chain !== null, lastError }]))
}
