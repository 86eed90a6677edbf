import { Big } from 'big.js'
import type { OrgStatus } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { getOrg } from '../../orgs/index.ts'
import { changeStatus } from '../account-status/apply-event.ts'
import {
  countCharges,
  endCharge,
  insertCharge,
  listPaymentMethods,
  listUnpaid,
  lockAccount,
  markPaid,
  selectPendingCharge,
  selectCharge,
  type ChargeRow,
  type StoredInvoice,
  listOrgsToCollect,
} from './payment-store.ts'
import type { ChargeOutcome, PaymentProvider } from './provider.ts'

/** The minimum charge. Payment providers reject smaller ones, so smaller invoices are marked as paid. */
const minChargeCents = 50

/** The status after the charges, and the error of the failed charge, as it is shown to the customer; null if none failed. */
export type ChargeSummary = { status: OrgStatus; error: string | null }

/**
 * Charges all unpaid invoices, oldest first, until a charge fails, and updates the organization's status. Repeats a charge that a
 * crash interrupted, with the same key.
 */
export async function chargeUnpaidInvoices(
  app: App,
  provider: PaymentProvider,
  orgId: number,
  { isScheduled }: { isScheduled: boolean },
): Promise<ChargeSummary> {
  for (const invoice of await listUnpaid(app.db, orgId)) {
    const failure = await chargeInvoice(app, provider, invoice)
    if (failure === null) continue
    await changeStatus(app, orgId, { type: 'failed', atMs: app.clock.now().getTime(), isScheduled }, failure)
    return { status: (await getOrg(app.db, orgId)).status, error: failure }
  }
  await changeStatus(app, orgId, { type: 'settled' }, 'nothing is due')
  return { status: (await getOrg(app.db, orgId)).status, error: null }
}

/**
 * Charges an invoice. Returns null when the invoice is paid, otherwise the reason for the failure, which is shown to the
 * customer.
 */
async function chargeInvoice(app: App, provider: PaymentProvider, invoice: StoredInvoice): Promise<string | null> {
  const amountCents = Number(new Big(invoice.totalUsd).times(100).toFixed(0))
  if (amountCents < minChargeCents) {
    await markPaid(app.db, invoice.number, app.clock.now())
    return null
  }
  while (true) {
    const attempt = await beginCharge(app, invoice, amountCents)
    if (attempt === 'paid') return null
    if (attempt === 'no method') return 'There is no payment method.'
    const outcome = await provider.charge({
      key: attempt.charge.key,
      customerId: attempt.customerId,
      paymentMethodId: attempt.charge.paymentMethodId,
      amountCents,
      description: `Invoice ${invoiceNumber(invoice.number)}, ${invoice.month}`,
    })
    await recordOutcome(app, attempt.charge, outcome)
    if (outcome.status === 'succeeded') return null
    // A repeated charge may have used a card that has been replaced since, so the loop tries the current card.
    if (attempt.isNew) return outcome.message
  }
}

/**
 * Records a charge before the provider is called, or returns one that was interrupted; `paid` if the invoice has been paid
 * in the meantime, `no method` without a payment method.
 */
async function beginCharge(app: App, invoice: StoredInvoice, amountCents: number) {
  return await app.db.transaction(async (tx) => {
    const { customerId } = await lockAccount(tx, invoice.orgId)
    const isOpen = (await listUnpaid(tx, invoice.orgId)).some(({ number }) => number === invoice.number)
    if (!isOpen) return 'paid'
    const pending = await selectPendingCharge(tx, invoice.number)
    if (pending && customerId) return { charge: pending, customerId, isNew: false }
    const [method] = await listPaymentMethods(tx, invoice.orgId)
    if (!method || !customerId) return 'no method'
    const charge: ChargeRow = {
      key: `invoice-${invoice.number}-${await countCharges(tx, invoice.number)}`,
      invoice: invoice.number,
      orgId: invoice.orgId,
      paymentMethodId: method.id,
      amountCents,
      status: 'pending',
      providerId: null,
      failure: null,
      at: app.clock.now(),
    }
    await insertCharge(tx, charge)
    return { charge, customerId, isNew: true }
  })
}

async function recordOutcome(app: App, charge: ChargeRow, outcome: ChargeOutcome): Promise<void> {
  await app.db.transaction(async (tx) => {
    await lockAccount(tx, charge.orgId)
    // A failure that is reported late must not undo a payment.
    if ((await selectCharge(tx, charge.key))?.status === 'succeeded') return
    await endCharge(tx, charge.key, {
      status: outcome.status,
      providerId: outcome.providerId,
      failure: outcome.status === 'failed' ? outcome.message : null,
    })
    if (outcome.status === 'succeeded') await markPaid(tx, charge.invoice, app.clock.now())
  })
}

/** Applies an outcome that the provider reported by webhook. A payment counts even if the charge was recorded as failed. */
export async function settleCharge(app: App, charge: ChargeRow, outcome: ChargeOutcome): Promise<void> {
  await recordOutcome(app, charge, outcome)
  const { orgId } = charge
  if (outcome.status === 'succeeded') {
    if ((await listUnpaid(app.db, orgId)).length === 0)
      await changeStatus(app, orgId, { type: 'settled' }, 'nothing is due')
  } else if (charge.status === 'pending')
    await changeStatus(
      app,
      orgId,
      { type: 'failed', atMs: app.clock.now().getTime(), isScheduled: false },
      outcome.message,
    )
}

/** Returns an invoice number as users see it. */
export const invoiceNumber = (number: number): string => `SHOAL-${String(number).padStart(6, '0')}`

/** Charges the organizations whose next attempt is due, and terminates those that have not paid for too long. */
export async function retryDueCharges(app: App, provider: PaymentProvider): Promise<void> {
  const now = app.clock.now()
  for (const { orgId, isDue } of await listOrgsToCollect(app.db, now)) {
    // A failure for one organization must not prevent charging the others.
    const work = isDue
      ? chargeUnpaidInvoices(app, provider, orgId, { isScheduled: true })
      : changeStatus(app, orgId, { type: 'time', atMs: now.getTime() }, 'unpaid for too long')
    await work.catch((error: unknown) => app.log.error({ err: error, orgId }, 'failed to charge an organization'))
  }
}
