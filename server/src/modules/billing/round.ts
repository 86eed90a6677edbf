import type { App } from '../../app.ts'
import { every } from '../../db/every.ts'
import { measured } from '../../health/loops.ts'
import { runAsLeader, type LeaderHandle } from '../../db/leases.ts'
import { applyHibernations, enforceLimits } from './limits/enforce.ts'
import { settleDeletedOrgs } from './final-settlement.ts'
import { meterTick } from './metering/meter.ts'
import { retryDueCharges } from './payments/collect.ts'
import { providerOf } from './payments/provider-of.ts'
import { readPriceBook } from './prices/price-book.ts'
import { closeMonths } from './receipts/months.ts'

/** Interval of rounds. */
const intervalMs = 15_000

/**
 * Starts the loop that meters usage, enforces caps, closes months, charges invoices and updates statuses. Only the
 * leader runs it.
 */
export function startBilling(app: App): LeaderHandle {
  const round = billingRound(app)
  return runAsLeader(app.database, app.log, 'billing', async (_, signal) => {
    const logError = (error: unknown) => app.log.error({ err: error }, 'billing failed')
    await every(signal, { ms: intervalMs, onError: logError }, () => round(signal))
  })
}

/** Returns a function that runs all tasks once. A failing task does not affect the others; it is retried in the next round. */
export function billingRound(app: App): (signal?: AbortSignal) => Promise<void> {
  const book = readPriceBook(app.config)
  const provider = providerOf(app)
  const tasks = {
    metering: () => meterTick(app),
    caps: () => enforceLimits(app, book),
    'closing months': () => closeMonths(app, book),
    charging: () => retryDueCharges(app, provider),
    'settling deleted organizations': () => settleDeletedOrgs(app, book, provider),
    hibernation: () => applyHibernations(app),
  }
  return async (signal) => {
    for (const [name, task] of Object.entries(tasks)) {
      // Another worker may be the leader now.
      if (signal?.aborted) return
      await measured(app, `billing: ${name}`, intervalMs, task)().catch((error: unknown) =>
        app.log.error({ err: error, task: name }, 'billing task failed'),
      )
    }
  }
}
