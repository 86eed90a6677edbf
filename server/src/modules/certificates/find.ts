import type acme from 'acme-client'
import type { App } from '../../app.ts'
import { certificateKeyContext } from './keep.ts'
import { loadAcme } from './order.ts'
import {
  selectAlpnAuthorization,
  selectCertificate,
  selectKeyAuthorization,
  selectCertificates,
  type CertificateRow,
} from './store.ts'

type FindApp = Pick<App, 'db' | 'sealer'>
/** A certificate with its chain, and its private key, in PEM. */
export type KeyPair = { cert: string; key: string }

/** Returns the certificate for a name; null if there is none. @throws Error if it is sealed with an unknown key */
export async function findCertificate({ db, sealer }: FindApp, name: string): Promise<KeyPair | null> {
  const row = await selectCertificate(db, name)
  if (!row?.chain || !row.sealedKey) return null
  return { cert: row.chain, key: sealer.open(row.sealedKey, certificateKeyContext(name)) }
}

/** Returns the certificate that answers a TLS-ALPN-01 challenge (RFC 8737); null if no order expects one for this name. */
export async function findChallengeCertificate({ db }: FindApp, name: string): Promise<KeyPair | null> {
  const keyAuthorization = await selectAlpnAuthorization(db, name)
  if (keyAuthorization === null) return null
  const authorization = { identifier: { type: 'dns', value: name } } as acme.Authorization
  const { crypto } = await loadAcme()
  const ownKey = await crypto.createPrivateEcdsaKey()
  const [key, cert] = await crypto.createAlpnCertificate(authorization, keyAuthorization, ownKey)
  return { cert: cert.toString(), key: key.toString() }
}

/** Tokens of authorities are base64url of at least 128 bits. */
const tokenPattern = /^[\w-]{16,200}$/

/** Returns the response to an HTTP-01 challenge for a name; null if no order expects it. */
export async function findKeyAuthorization(app: FindApp, token: string, name: string): Promise<string | null> {
  return tokenPattern.test(token) ? await selectKeyAuthorization(app.db, token, name) : null
}

/** Describes the certificates of the installation's own names in one line: until when they are valid, or why there is none. */
export async function describeCertificates({ db, config }: Pick<App, 'db' | 'config'>): Promise<string> {
  const names = config.tls?.ownNames ?? []
  const rows = await selectCertificates(db, names)
  return names
    .map((name) =>
      describeOne(
        name,
        rows.find((row) => row.name === name),
      ),
    )
    .join('; ')
}

function describeOne(name: string, row: CertificateRow | undefined): string {
  const state = row?.notAfter ? `valid until ${row.notAfter.toISOString()}` : 'no certificate yet'
  const failure = row?.lastError
    ? `, ${row.failures} failed orders (next at ${row.nextOrderAt.toISOString()}): ${row.lastError}`
    : ''
  return `${name}: ${state}${failure}`
}
