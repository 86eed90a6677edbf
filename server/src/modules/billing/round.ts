import type { App } from '../../app.ts'
import { every } from '../../db/every.ts'
import { runAsLeader, type LeaderHandle } from '../../db/leases.ts'
import { applyHibernations } from './limits/apply-hibernations.ts'
import { settleDeleted } from './final-settlement/settle.ts'
import { enforceLimits } from './limits/enforce.ts'
import { meterTick } from './metering/meter.ts'
import { retryDueCharges } from './account-status/retry-due-charges.ts'
import { providerOf } from './payments/provider-of.ts'
import { readPriceBook } from './prices/price-book.ts'
import { closeMonths } from './receipts/months.ts'

const everyMs = 15_000

/** Meters, holds caps, closes months, charges and moves statuses. One worker at a time does it. */
export function startBilling(app: App): LeaderHandle {
  const turn = billingRound(app)
  return runAsLeader(app.database, app.log, 'billing', async (_, signal) => {
    const failed = (error: unknown) => app.log.error({ err: error }, 'billing failed')
    await every(signal, { ms: everyMs, onError: failed }, () => turn(signal))
  })
}

/** One turn of all of it. A part that fails leaves the others be: the next turn comes. */
export function billingRound(app: App): (signal?: AbortSignal) => Promise<void> {
  const book = readPriceBook(app.config)
  const provider = providerOf(app)
  const parts = {
    metering: () => meterTick(app),
    caps: () => enforceLimits(app, book),
    'closing of months': () => closeMonths(app, book),
    charging: () => retryDueCharges(app, provider),
    'settling with deleted organizations': () => settleDeleted(app, book, provider),
    hibernation: () => applyHibernations(app),
  }
  return async (signal) => {
    for (const [name, part] of Object.entries(parts)) {
      // Another worker leads by now.
      if (signal?.aborted) return
      await part().catch((error: unknown) => app.log.error({ err: error, part: name }, 'a part of billing failed'))
    }
  }
}
