import type { App } from '../../../app.ts'
import { chargeUnpaidInvoices, move } from '../payments/collect.ts'
import type { PaymentProvider } from '../payments/provider.ts'
import { listDue } from './due-store.ts'

/** Charges what has not been tried, or is to be tried again by now; and ends the patience with who does not pay. */
export async function retryDueCharges(app: App, provider: PaymentProvider): Promise<void> {
  const now = app.clock.now()
  for (const { orgId, isDue } of await listDue(app.db, now)) {
    // One card that cannot be asked must not keep the others from being charged.
    const work = isDue
      ? chargeUnpaidInvoices(app, provider, orgId, { isScheduled: true })
      : move(app, orgId, { type: 'time', atMs: now.getTime() }, 'unpaid for too long')
    await work.catch((error: unknown) => app.log.error({ err: error, orgId }, 'an organization could not be charged'))
  }
}
