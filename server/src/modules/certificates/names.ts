import type { Db } from '../../db/database.ts'
import { insertNames, selectCertificates, type CertificateRow } from './store.ts'

/** Adds a name of an organization, so that its certificate is ordered and renewed; does nothing if the name exists already. */
export const addName = (db: Db, name: string, now: Date): Promise<void> => insertNames(db, [name], false, now)

/** `notAfter`: null until the first order has succeeded. `lastError`: why the last order failed; null if it succeeded. */
export type CertificateState = Pick<CertificateRow, 'notAfter' | 'lastError' | 'nextOrderAt'>

/** Returns the state of the certificate of each name that has one or waits for its first order. */
export async function certificateStates(db: Db, names: string[]): Promise<Map<string, CertificateState>> {
  const rows = names.length === 0 ? [] : await selectCertificates(db, names)
  return new Map(rows.map(({ name, notAfter, lastError, nextOrderAt }) => [name, { notAfter, lastError, nextOrderAt }]))
}
