import { X509Certificate } from 'node:crypto'
import type { App } from '../../app.ts'
import type { Job, Queue } from '../../jobs/jobs.ts'
import { openAccount } from './authority.ts'
import { deleteName, selectCertificate, updateCertificate } from './store.ts'

/** Revocations that fail are retried for about two days. */
export const revocationQueue: Queue = { name: 'certificates.revoke', retryLimit: 200, retryDelay: 30 }

/** The reason codes of RFC 5280 that authorities accept from the owner of a certificate. */
const reasonCodes = { unspecified: 0, keyCompromise: 1, superseded: 4, cessationOfOperation: 5 }
export type RevocationReason = keyof typeof reasonCodes
export const revocationReasons = Object.keys(reasonCodes) as RevocationReason[]

type Revocation = { certificate: string; reason: RevocationReason }

export function certificateJobs(app: App): Job<never>[] {
  const revokeJob: Job<Revocation> = { ...revocationQueue, run: (revocation) => revoke(app, revocation) }
  return [revokeJob]
}

/**
 * Queues the revocation of a certificate, as part of the current transaction. `chain`: the certificate with its chain, in PEM.
 */
export async function queueRevocation({ jobs }: Pick<App, 'jobs'>, chain: string, reason: RevocationReason) {
  const revocation: Revocation = { certificate: new X509Certificate(chain).toString(), reason }
  await jobs.send(revocationQueue, revocation)
}

/**
 * Deletes an organization's name with its certificate, and revokes the certificate. Handshakes with the name are then rejected.
 */
export async function removeName(app: Pick<App, 'db' | 'jobs'>, name: string): Promise<void> {
  await app.db.transaction(async () => {
    const chain = await deleteName(app.db, name)
    if (chain !== null) await queueRevocation(app, chain, 'cessationOfOperation')
  })
}

/**
 * Revokes the certificate of a name, and orders one with another key immediately. Returns false if the name has no certificate.
 */
export async function revokeCertificateOf(
  app: Pick<App, 'db' | 'jobs' | 'clock'>,
  name: string,
  reason: RevocationReason,
): Promise<boolean> {
  return await app.db.transaction(async () => {
    const chain = (await selectCertificate(app.db, name))?.chain ?? null
    if (chain === null) return false
    await queueRevocation(app, chain, reason)
    await updateCertificate(app.db, name, { nextOrderAt: app.clock.now() })
    return true
  })
}

/** @throws Error with the authority's reason, so that the job is retried */
async function revoke(app: App, { certificate, reason }: Revocation): Promise<void> {
  const { serialNumber, subjectAltName, validTo } = new X509Certificate(certificate)
  // Authorities refuse to revoke an expired certificate.
  if (new Date(validTo) <= app.clock.now()) return
  const client = await openAccount(app)
  // The library declares the codes as an enum, which it does not export at run time.
  const request: object = { reason: reasonCodes[reason] }
  try {
    await client.revokeCertificate(certificate, request)
  } catch (error) {
    // An earlier attempt revoked the certificate, but its process was killed before the job ended.
    if (!/already (been )?revoked/i.test(String(error))) throw error
  }
  app.log.info({ names: subjectAltName, serialNumber, reason }, 'certificate revoked')
}
