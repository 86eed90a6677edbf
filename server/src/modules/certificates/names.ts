import type { Db } from '../../db/database.ts'
import { insertNames, selectCertificates, type CertificateRow } from './store.ts'

/** Keeps a certificate for a name of an organization: orders it, unless there is one, and renews it. */
export const keepName = (db: Db, name: string, now: Date): Promise<void> => insertNames(db, [name], false, now)

/** `notAfter`: null until the first order has succeeded. `lastError`: why the last order failed; null if it succeeded. */
export type CertificateState = Pick<CertificateRow, 'notAfter' | 'lastError' | 'nextOrderAt'>

/** Returns the state of the certificate of each name that has or waits for one. */
export async function certificateStates(db: Db, names: string[]): Promise<Map<string, CertificateState>> {
  const rows = names.length === 0 ? [] : await selectCertificates(db, names)
  return new Map(rows.map(({ name, notAfter, lastError, nextOrderAt }) => [name, { notAfter, lastError, nextOrderAt }]))
}
