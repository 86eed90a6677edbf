import { safeText } from '../../db/safe-error.ts'
import { every } from '../../db/every.ts'
import { runAsLeader, type LeaderHandle } from '../../db/leases.ts'
import type { App } from '../../app.ts'
import { measured } from '../../health/loops.ts'
import { hours, minutes } from '../../clock.ts'
import { type AuthorityApp, accountContext } from './authority.ts'
import { orderCertificate, type ChallengeType } from './order.ts'
import { readRenewalInformation } from './renewal-information.ts'
import { queueRevocation } from './revoke.ts'
import { insertNames, selectDueNames, selectDueRenewalChecks, updateCertificate, type CertificateRow } from './store.ts'

type CertificatesApp = AuthorityApp & Pick<App, 'log' | 'jobs'>

const roundMs = 2_000
/** The maximum number of concurrent orders, and of concurrent checks of renewal times. */
const maxOrders = 4
/** The delay until the next check of a renewal time, if the authority did not respond or offers no renewal times. */
const renewalCheckMs = hours(6)
const maxDelayMs = hours(12)
const maxErrorLength = 500

/** The context with which the private key of a certificate is sealed. */
export const certificateKeyContext = (name: string): string => `certificate ${name}`

/** Orders and renews certificates in one process of the installation. Does nothing without SHOAL_TLS=acme. */
export function startCertificates(app: App): LeaderHandle {
  const { tls } = app.config
  if (tls?.source.kind !== 'acme') return { close: async () => undefined }
  return runAsLeader(app.database, app.log, 'certificates', async (_, signal) => {
    await insertNames(app.db, tls.ownNames, true, app.clock.now())
    const onError = (err: unknown) => app.log.warn({ err }, 'certificates could not be checked')
    await every(
      signal,
      { ms: roundMs, onError },
      measured(app, 'certificates', roundMs, async () => {
        await updateRenewalTimes(app)
        await orderDueCertificates(app)
      }),
    )
  })
}

/** Orders the certificates that are due. Records a failed order, to retry it later, and continues with the others. */
export async function orderDueCertificates(app: CertificatesApp): Promise<void> {
  const due = await selectDueNames(app.db, app.config.tls?.ownNames ?? [], app.clock.now(), maxOrders)
  await Promise.all(due.map((row) => orderOne(app, row)))
}

async function orderOne(app: CertificatesApp, row: CertificateRow): Promise<void> {
  const { name } = row
  try {
    const { chain, key, notBefore, notAfter } = await orderCertificate(app, name, {
      type: challengeFor(app, row),
      replaced: row.chain,
    })
    const nameExists = await updateCertificate(app.db, name, {
      chain,
      sealedKey: app.sealer.seal(key, certificateKeyContext(name)),
      notBefore,
      notAfter,
      failures: 0,
      lastError: null,
      nextOrderAt: renewalTime(notBefore, notAfter),
      renewalCheckAt: app.clock.now(),
    })
    if (nameExists) return app.log.info({ name, notAfter }, 'certificate issued')
    await queueRevocation(app, chain, 'cessationOfOperation')
    app.log.info({ name }, 'the certificate of a name that was removed during the order will be revoked')
  } catch (error) {
    const lastError = safeText(error).slice(0, maxErrorLength)
    const failures = row.failures + 1
    const nextOrderAt = new Date(app.clock.now().getTime() + retryDelayMs(failures))
    app.log.warn({ name, failures, nextOrderAt, reason: lastError }, 'the order of a certificate failed')
    await updateCertificate(app.db, name, { failures, lastError, nextOrderAt })
  }
}

/** Moves the renewal of certificates to the times that their authority suggests. */
export async function updateRenewalTimes(app: CertificatesApp): Promise<void> {
  const due = await selectDueRenewalChecks(app.db, app.config.tls?.ownNames ?? [], app.clock.now(), maxOrders)
  await Promise.all(due.map((row) => updateRenewalTime(app, row)))
}

async function updateRenewalTime(app: CertificatesApp, row: CertificateRow): Promise<void> {
  const { name, chain, nextOrderAt, notBefore, notAfter, failures } = row
  const information = await readRenewalInformation(app, chain ?? '').catch((error: unknown) => {
    app.log.warn(
      { name, reason: safeText(error) },
      'the renewal time of a certificate could not be read from the authority',
    )
    return null
  })
  const renewalCheckAt = information?.nextCheckAt ?? new Date(app.clock.now().getTime() + renewalCheckMs)
  // A renewal that is due is not delayed, and a failed one is retried at its own time.
  const isPlanned = failures === 0 && nextOrderAt > app.clock.now()
  const shouldMove =
    information !== null && isPlanned && !(information.start <= nextOrderAt && nextOrderAt <= information.end)
  if (!shouldMove || !notBefore || !notAfter) return void (await updateCertificate(app.db, name, { renewalCheckAt }))
  const { start, end } = information
  // A random time within the window, so that the renewals of all clients of the authority are distributed.
  const suggestedMs = start.getTime() + Math.random() * (end.getTime() - start.getTime())
  const latestMs = notAfter.getTime() - (notAfter.getTime() - notBefore.getTime()) / 10
  const movedTo = new Date(Math.min(suggestedMs, latestMs))
  app.log.info({ name, nextOrderAt: movedTo }, 'the authority suggests another time for the renewal of a certificate')
  await updateCertificate(app.db, name, { renewalCheckAt, nextOrderAt: movedTo })
}

function challengeFor({ config }: AuthorityApp, { failures }: CertificateRow): ChallengeType {
  if (config.SHOAL_ACME_CHALLENGE !== 'auto') return config.SHOAL_ACME_CHALLENGE
  return failures % 2 === 0 ? 'http-01' : 'tls-alpn-01'
}

/** Returns the time when a third of the lifetime remains, as authorities recommend. */
const renewalTime = (notBefore: Date, notAfter: Date): Date =>
  new Date(notAfter.getTime() - (notAfter.getTime() - notBefore.getTime()) / 3)

/**
 * Returns the delay after this number of failed orders. The delay doubles from two minutes to twelve hours, since authorities limit
 * failed orders per hour.
 */
export const retryDelayMs = (failures: number): number => Math.min(minutes(2) * 2 ** (failures - 1), maxDelayMs)

/** The columns of this module with sealed values, for the rotation of the key of the installation. */
export const sealedCertificateColumns = [
  {
    table: 'acme_accounts',
    key: ['directory_url'],
    column: 'sealed_key',
    contextOf: ([directoryUrl = '']: string[]) => accountContext(directoryUrl),
  },
  {
    table: 'certificates',
    key: ['name'],
    column: 'sealed_key',
    contextOf: ([name = '']: string[]) => certificateKeyContext(name),
  },
]
