import { safeText } from '../../db/safe-error.ts'
import { every } from '../../db/every.ts'
import { runAsLeader, type LeaderHandle } from '../../db/leases.ts'
import type { App } from '../../app.ts'
import { measured } from '../../health/loops.ts'
import { hours, minutes } from '../../clock.ts'
import { orderCertificate, type ChallengeType, type OrderApp } from './order.ts'
import { insertNames, selectDueNames, updateCertificate, type CertificateRow } from './store.ts'

const roundMs = 2_000
/** Orders at the same time. */
const maxOrders = 4
const maxDelayMs = hours(12)
const maxErrorLength = 500

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
      measured(app, 'certificates', roundMs, () => orderDueCertificates(app)),
    )
  })
}

/** Orders the certificates that are due. A failed order is recorded and retried later; the others continue. */
export async function orderDueCertificates(app: OrderApp & Pick<App, 'log'>): Promise<void> {
  const due = await selectDueNames(app.db, app.config.tls?.ownNames ?? [], app.clock.now(), maxOrders)
  await Promise.all(due.map((row) => orderOne(app, row)))
}

async function orderOne(app: OrderApp & Pick<App, 'log'>, row: CertificateRow): Promise<void> {
  const { name } = row
  try {
    const { chain, key, notBefore, notAfter } = await orderCertificate(app, name, challengeFor(app, row))
    await updateCertificate(app.db, name, {
      chain,
      sealedKey: app.sealer.seal(key, certificateKeyContext(name)),
      notBefore,
      notAfter,
      failures: 0,
      lastError: null,
      nextOrderAt: renewalTime(notBefore, notAfter),
    })
    app.log.info({ name, notAfter }, 'certificate issued')
  } catch (error) {
    const lastError = safeText(error).slice(0, maxErrorLength)
    const failures = row.failures + 1
    const nextOrderAt = new Date(app.clock.now().getTime() + retryDelayMs(failures))
    app.log.warn({ name, failures, nextOrderAt, reason: lastError }, 'the order of a certificate failed')
    await updateCertificate(app.db, name, { failures, lastError, nextOrderAt })
  }
}

function challengeFor({ config }: OrderApp, { failures }: CertificateRow): ChallengeType {
  if (config.SHOAL_ACME_CHALLENGE !== 'auto') return config.SHOAL_ACME_CHALLENGE
  return failures % 2 === 0 ? 'http-01' : 'tls-alpn-01'
}

/** Authorities recommend to renew when a third of the lifetime remains. */
const renewalTime = (notBefore: Date, notAfter: Date): Date =>
  new Date(notAfter.getTime() - (notAfter.getTime() - notBefore.getTime()) / 3)

/** Doubles from two minutes to twelve hours, since authorities limit failed orders per hour. */
export const retryDelayMs = (failures: number): number => Math.min(minutes(2) * 2 ** (failures - 1), maxDelayMs)
