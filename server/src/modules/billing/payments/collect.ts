import { Big } from 'big.js'
import type { OrgStatus } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { getOrg } from '../../orgs/index.ts'
import { applyAccountEvent } from '../account-status/apply-event.ts'
import type { AccountEvent } from '../account-status/account-status.ts'
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
  type InvoiceRow,
} from './payment-store.ts'
import type { ChargeOutcome, PaymentProvider } from './provider.ts'

/** Cards cannot be charged less; such an invoice is let go. */
const minChargeCents = 50

export type ChargeSummary = { status: OrgStatus; error: string | null }

/**
 * Charges everything that is due, oldest first, until something fails, and moves the organization's status by the outcome. Whoever
 * is killed in between leaves a charge whose outcome is asked for again, with the same key.
 */
export async function chargeUnpaidInvoices(
  app: App,
  provider: PaymentProvider,
  orgId: number,
  { isScheduled }: { isScheduled: boolean },
): Promise<ChargeSummary> {
  for (const invoice of await listUnpaid(app.db, orgId)) {
    const failure = await collectOne(app, provider, invoice)
    if (failure === null) continue
    await move(app, orgId, { type: 'failed', atMs: app.clock.now().getTime(), isScheduled }, failure)
    return { status: (await getOrg(app.db, orgId)).status, error: failure }
  }
  await move(app, orgId, { type: 'settled' }, 'nothing is due')
  return { status: (await getOrg(app.db, orgId)).status, error: null }
}

/** Null when it is paid now; otherwise why not, for the customer. */
async function collectOne(app: App, provider: PaymentProvider, invoice: InvoiceRow): Promise<string | null> {
  const amountCents = Number(new Big(invoice.totalUsd).times(100).toFixed(0))
  if (amountCents < minChargeCents) {
    await markPaid(app.db, invoice.number, app.clock.now())
    return null
  }
  while (true) {
    const begun = await begin(app, invoice, amountCents)
    if (begun === 'paid') return null
    if (begun === 'no method') return 'There is no payment method.'
    const outcome = await provider.charge({
      key: begun.charge.key,
      customerId: begun.customerId,
      paymentMethodId: begun.charge.paymentMethodId,
      amountCents,
      description: `Invoice ${invoiceNumber(invoice.number)}, ${invoice.month}`,
    })
    await finish(app, begun.charge, outcome)
    if (outcome.status === 'succeeded') return null
    // An earlier try that was cut short may have been of another card.
    if (begun.isNew) return outcome.message
  }
}

/** On record before the provider is asked. Somebody else may have been paid meanwhile. */
async function begin(app: App, invoice: InvoiceRow, amountCents: number) {
  return await app.db.transaction(async (tx) => {
    const { customerId } = await lockAccount(tx, invoice.orgId)
    const isOpen = (await listUnpaid(tx, invoice.orgId)).some(({ number }) => number === invoice.number)
    if (!isOpen) return 'paid'
    const asking = await selectPendingCharge(tx, invoice.number)
    if (asking && customerId) return { charge: asking, customerId, isNew: false }
    const [method] = await listPaymentMethods(tx, invoice.orgId)
    if (!method || !customerId) return 'no method'
    const charge: ChargeRow = {
      key: `invoice-${invoice.number}-${await countCharges(tx, invoice.number)}`,
      invoice: invoice.number,
      orgId: invoice.orgId,
      paymentMethodId: method.id,
      amountCents,
      status: 'asking',
      providerId: null,
      failure: null,
      at: app.clock.now(),
    }
    await insertCharge(tx, charge)
    return { charge, customerId, isNew: true }
  })
}

async function finish(app: App, charge: ChargeRow, outcome: ChargeOutcome): Promise<void> {
  await app.db.transaction(async (tx) => {
    await lockAccount(tx, charge.orgId)
    // Money that came stays: a late word of failure changes nothing.
    if ((await selectCharge(tx, charge.key))?.status === 'succeeded') return
    await endCharge(tx, charge.key, {
      status: outcome.status,
      providerId: outcome.providerId,
      failure: outcome.status === 'failed' ? outcome.message : null,
    })
    if (outcome.status === 'succeeded') await markPaid(tx, charge.invoice, app.clock.now())
  })
}

/** What the provider told by itself of a charge: paid is paid, also when it was taken for failed before. */
export async function settleCharge(app: App, charge: ChargeRow, outcome: ChargeOutcome): Promise<void> {
  await finish(app, charge, outcome)
  const { orgId } = charge
  if (outcome.status === 'succeeded') {
    if ((await listUnpaid(app.db, orgId)).length === 0) await move(app, orgId, { type: 'settled' }, 'nothing is due')
  } else if (charge.status === 'asking')
    await move(app, orgId, { type: 'failed', atMs: app.clock.now().getTime(), isScheduled: false }, outcome.message)
}

/** Moves the status, and queues the mails about it with it. */
export async function move(app: App, orgId: number, event: AccountEvent, reason: string): Promise<void> {
  await app.db.transaction(async (tx) => {
    for (const mail of await applyAccountEvent(app, tx, orgId, event, reason)) await app.mailer.send(mail)
  })
}

/** As invoices show it. */
export const invoiceNumber = (number: number): string => `SHOAL-${String(number).padStart(6, '0')}`
