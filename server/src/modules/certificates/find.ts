import type acme from 'acme-client'
import type { App } from '../../app.ts'
import { certificateKeyContext } from './maintain.ts'
import { loadAcme } from './authority.ts'
import {
  selectAlpnAuthorization,
  selectCertificate,
  selectKeyAuthorization,
  selectCertificates,
  insertNames,
  type CertificateRow,
} from './store.ts'
import type { Db } from '../../db/database.ts'

type FindApp = Pick<App, 'db' | 'sealer'>
/** A certificate with its chain, and its private key, in PEM. */
export type KeyPair = { cert: string; key: string }

/** Returns the certificate for a name; null if there is none. @throws Error if it is sealed with an unknown key */
export async function findCertificate({ db, sealer }: FindApp, name: string): Promise<KeyPair | null> {
  const row = await selectCertificate(db, name)
  if (!row?.chain || !row.sealedKey) return null
  return { cert: row.chain, key: sealer.open(row.sealedKey, certificateKeyContext(name)) }
}

/** Returns the certificate for the response to a TLS-ALPN-01 challenge (RFC 8737); null if no order expects one for this name. */
export async function findChallengeCertificate({ db }: FindApp, name: string): Promise<KeyPair | null> {
  const keyAuthorization = await selectAlpnAuthorization(db, name)
  if (keyAuthorization === null) return null
  const authorization = { identifier: { type: 'dns', value: name } } as acme.Authorization
  const { crypto } = await loadAcme()
  const ownKey = await crypto.createPrivateEcdsaKey()
  const [key, cert] = await crypto.createAlpnCertificate(authorization, keyAuthorization, ownKey)
  return { cert: cert.toString(), key: key.toString() }
}

/** Tokens are base64url (RFC 8555, 8.3). A request with any other token does not reach the database. */
const tokenPattern = /^[\w-]{16,200}$/

/** Returns the response to an HTTP-01 challenge for a name; null if no order expects it. */
export async function findKeyAuthorization(app: FindApp, token: string, name: string): Promise<string | null> {
  return tokenPattern.test(token) ? await selectKeyAuthorization(app.db, token, name) : null
}

/** The certificate of one of the installation's own names, as `/readyz` reports it. Times are in ISO 8601. */
export type CertificateFact = {
  name: string
  /** Null until the first order has succeeded. */
  validUntil: string | null
  /** Failed orders since the last success. */
  failures: number
  /** Why the last order failed; null if it succeeded or there was none. */
  problem: string | null
  /** When the next order starts; null before the leader has added the name. */
  nextOrderAt: string | null
}

/** Returns the state of the certificate of each of the installation's own names. */
export async function ownCertificates({ db, config }: Pick<App, 'db' | 'config'>): Promise<CertificateFact[]> {
  const names = config.tls?.ownNames ?? []
  const rows = await selectCertificates(db, names)
  return names.map((name) => {
    const row = rows.find((candidate) => candidate.name === name)
    return {
      name,
      validUntil: row?.notAfter?.toISOString() ?? null,
      failures: row?.failures ?? 0,
      problem: row?.lastError ?? null,
      nextOrderAt: row?.nextOrderAt.toISOString() ?? null,
    }
  })
}

/** Adds a name of an organization, so that its certificate is ordered and renewed; does nothing if the name exists already. */
export const addName = (db: Db, name: string, now: Date): Promise<void> => insertNames(db, [name], false, now)

/** `notAfter`: null until the first order has succeeded. `lastError`: why the last order failed; null if it succeeded. */
export type CertificateState = Pick<CertificateRow, 'notAfter' | 'lastError' | 'nextOrderAt'>

/** Returns the state of the certificate of each name that has one or waits for its first order. */
export async function certificateStates(db: Db, names: string[]): Promise<Map<string, CertificateState>> {
  const rows = names.length === 0 ? [] : await selectCertificates(db, names)
  return new Map(rows.map(({ name, notAfter, lastError, nextOrderAt }) => [name, { notAfter, lastError, nextOrderAt }]))
}
