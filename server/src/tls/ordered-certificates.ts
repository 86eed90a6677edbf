import { createSecureContext, type SecureContext } from 'node:tls'
import type { App } from '../app.ts'
import { notificationsOf } from '../db/notifications.ts'
import { certificatesChannel, findCertificate, findChallengeCertificate } from '../modules/certificates/index.ts'
import { BoundedMap } from '../collections/bounded-map.ts'
import { ReadLimit } from './read-limit.ts'
import { createSelfSigned } from './self-signed.ts'
import type { CertificateSource } from './tls-layer.ts'

/** Maximum number of certificates in memory. Each needs about ten kilobytes. */
const maxContexts = 2_000
/** Maximum number of names in memory that have no certificate, so that not every request for them reaches the database. */
const maxUnknown = 10_000
/** A lost notification delays a new certificate by at most this time. */
const maxAgeMs = 60_000

type Cached = { context: SecureContext | null; atMs: number }

/** Serves the certificates in the database. The installation's own names have a self-signed certificate until their first order succeeds. */
export function openOrderedCertificates(app: App): { source: CertificateSource; close: () => void } {
  const certificates = new BoundedMap<Cached>(maxContexts)
  const namesWithoutCertificate = new BoundedMap<Cached>(maxUnknown)
  const selfSigned = new Map<string, Promise<SecureContext>>()
  const pending = new Map<string, Promise<SecureContext | null>>()
  const ownNames = app.config.tls?.ownNames ?? []
  const [certificateReads, challengeReads] = [new ReadLimit(), new ReadLimit()]

  const stopListening = notificationsOf(app.database).listen(certificatesChannel, {
    onMessage: (name) => {
      certificates.delete(name)
      namesWithoutCertificate.delete(name)
    },
    onListening: () => {
      certificates.clear()
      namesWithoutCertificate.clear()
    },
  })

  const selfSignedFor = (name: string): Promise<SecureContext> => {
    const existing = selfSigned.get(name)
    if (existing) return existing
    app.log.warn(
      { name },
      'serving a self-signed certificate, which clients reject, until the first order has succeeded',
    )
    const created = createSelfSigned(name).then((pair) => createSecureContext(pair))
    selfSigned.set(name, created)
    return created
  }

  const read = async (name: string): Promise<SecureContext | null> => {
    const pair = await findCertificate(app, name)
    const context = pair ? createSecureContext(pair) : null
    ;(context ? certificates : namesWithoutCertificate).set(name, { context, atMs: performance.now() })
    return context
  }

  const readShared = async (name: string, old: Cached | undefined): Promise<SecureContext | null> => {
    if (!pending.has(name))
      pending.set(
        name,
        certificateReads.run(() => read(name), old?.context ?? null).finally(() => pending.delete(name)),
      )
    // While the database is unavailable, the certificate in memory is used.
    return await (pending.get(name) ?? Promise.resolve(null)).catch(() => old?.context ?? null)
  }

  const contextFor = async (name: string): Promise<SecureContext | null> => {
    const cached = certificates.get(name) ?? namesWithoutCertificate.get(name)
    const isFresh = cached !== undefined && performance.now() - cached.atMs < maxAgeMs
    const context = isFresh ? cached.context : await readShared(name, cached)
    return context ?? (ownNames.includes(name) ? await selfSignedFor(name) : null)
  }

  const challengeFor = async (name: string): Promise<SecureContext | null> => {
    const pair = await challengeReads.run(() => findChallengeCertificate(app, name), null)
    return pair && createSecureContext(pair)
  }
  return { source: { contextFor, challengeFor }, close: stopListening }
}
