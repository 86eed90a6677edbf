import { atCapActions, type PaymentMethod, type Receipt } from '@shoal/contract'
import { bigint, boolean, date, index, integer, jsonb, numeric, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { timestamp, uniqueIndex } from 'drizzle-orm/pg-core'
import { enumChecks, oneRowCheck } from '../../db/checks.ts'
import { orgs } from '../orgs/index.ts'

const bigId = () => bigint({ mode: 'number' })
const time = () => timestamp({ withTimezone: true })
const dollars = () => numeric({ precision: 24, scale: 8 })

/** What billing knows of an organization; there once something was asked of it. */
export const billingAccounts = pgTable(
  'billing_accounts',
  {
    orgId: bigId()
      .primaryKey()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    /** The provider's own id. */
    customerId: text(),
    /** Set by the operator; of everything an organization uses. */
    discountPercent: numeric({ precision: 5, scale: 2 }).notNull().default('0'),
    spendCapUsd: numeric({ precision: 12, scale: 2 }),
    atCap: text({ enum: atCapActions }).notNull().default('stop_deploys'),
    hibernateOrder: jsonb().$type<string[]>().notNull().default([]),
    rpcRequestsCap: bigId(),
    /** The highest share of the cap that was told by mail, and the month it was told of. */
    warnedPercent: integer().notNull().default(0),
    warnedMonth: text(),
    /** Since when a charge fails; null while all is paid. */
    failingSince: time(),
    /** Tries after the first one. */
    retries: integer().notNull().default(0),
    nextRetryAt: time(),
  },
  (t) => enumChecks('billing_accounts', t),
)

export const paymentMethods = pgTable(
  'payment_methods',
  {
    /** The provider's. */
    id: text().primaryKey(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    shown: jsonb().$type<Omit<PaymentMethod, 'id'>>().notNull(),
    addedAt: time().notNull(),
    /** The highest of an organization is its default; every other rank is what was default before, or was there first. */
    rank: integer().notNull().default(0),
  },
  (t) => [index('payment_methods_org').on(t.orgId)],
)

/** What was observed to run or to be kept, from when to when; the running hour is made of these. */
export const usageSpans = pgTable(
  'usage_spans',
  {
    orgId: bigId().notNull(),
    squidId: bigId().notNull(),
    /** `name@slot` */
    squidName: text().notNull(),
    /** Within the version: `api-2`, a processor's name, `db`. */
    resource: text().notNull(),
    /** As receipts name it. */
    type: text().notNull(),
    /** 1 for programs, bytes for storage. */
    size: bigId().notNull(),
    fromMs: bigId().notNull(),
    toMs: bigId().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.squidId, t.resource, t.type, t.size, t.fromMs] }),
    index('usage_spans_org').on(t.orgId),
    index('usage_spans_to').on(t.toMs),
  ],
)

/**
 * The meter: only ever added to. One an hour a resource; more parts where more of the hour became known later. The key is fixed by
 * what is measured, before anything is tried, so that a repetition adds nothing. No foreign keys: it outlives what it speaks of.
 */
export const usageRecords = pgTable(
  'usage_records',
  {
    orgId: bigId().notNull(),
    /** Null for requests that no squid made. */
    squidId: bigId(),
    squidName: text(),
    source: text({ enum: ['containers', 'databases', 'rpc'] }).notNull(),
    /** `<squid>/<resource>/<type>/<size>` */
    resource: text().notNull(),
    type: text().notNull(),
    /** Its beginning. Prices are those of this hour. */
    hour: time().notNull(),
    part: integer().notNull(),
    /** ms, byte-ms or requests. */
    quantity: numeric({ precision: 40, scale: 0 }).notNull(),
    /** `yyyy-MM` of the receipt it stands on: that of the hour, or the first open one when that is closed. */
    month: text().notNull(),
    recordedAt: time().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.source, t.resource, t.hour, t.part] }),
    index('usage_records_org_month').on(t.orgId, t.month),
    index('usage_records_hour').on(t.hour),
    ...enumChecks('usage_records', t),
  ],
)

/** Closed months. The receipt never changes; only whether it is paid. */
export const invoices = pgTable(
  'invoices',
  {
    /** Counts without gaps. */
    number: integer().primaryKey(),
    orgId: bigId().notNull(),
    month: text().notNull(),
    closedAt: time().notNull(),
    receipt: jsonb().$type<Receipt>().notNull(),
    /** As they stood when the month was closed. */
    customer: jsonb().$type<InvoiceCustomer>().notNull(),
    /** Who bills, in lines, as the price book said then. */
    seller: jsonb().$type<string[]>().notNull().default([]),
    totalUsd: dollars().notNull(),
    paidAt: time(),
  },
  (t) => [uniqueIndex('invoices_org_month').on(t.orgId, t.month)],
)
export type InvoiceCustomer = {
  code: string
  name: string
  details: typeof orgs.$inferSelect.billingDetails
}

/** Tries to be paid. The key is written before the provider is asked, so that a repetition charges nothing twice. */
export const charges = pgTable(
  'charges',
  {
    /** Sent to the provider as idempotency key. */
    key: text().primaryKey(),
    invoice: integer()
      .notNull()
      .references(() => invoices.number),
    orgId: bigId().notNull(),
    paymentMethodId: text().notNull(),
    amountCents: bigId().notNull(),
    status: text({ enum: ['asking', 'succeeded', 'failed'] }).notNull(),
    /** The provider's own. */
    providerId: text(),
    failure: text(),
    at: time().notNull(),
  },
  (t) => [index('charges_invoice').on(t.invoice), ...enumChecks('charges', t)],
)

/** Events of the provider that were handled: each counts once. */
export const billingEvents = pgTable('billing_events', { id: text().primaryKey(), at: time().notNull() })

/** Versions that billing hibernated, and wakes again. */
export const billingHibernations = pgTable(
  'billing_hibernations',
  {
    squidId: bigId().primaryKey(),
    orgId: bigId().notNull(),
    squidName: text().notNull(),
    reason: text({ enum: ['debt', 'cap'] }).notNull(),
    month: text().notNull(),
    /** Asked to run again; the row goes when it was taken up. */
    isWaking: boolean().notNull().default(false),
    at: time().notNull(),
  },
  (t) => enumChecks('billing_hibernations', t),
)

/** Set-ups of the test provider, where Stripe keeps its own. */
export const testSetups = pgTable(
  'billing_test_setups',
  {
    clientSecret: text().primaryKey(),
    orgId: bigId().notNull(),
    customerId: text().notNull(),
    status: text({ enum: ['requires_payment_method', 'requires_action', 'succeeded'] }).notNull(),
    paymentMethodId: text(),
    card: jsonb().$type<TestProviderCard>(),
    createdOn: date({ mode: 'string' }).notNull(),
  },
  (t) => enumChecks('billing_test_setups', t),
)
export type TestProviderCard = { number: string; expMonth: number; expYear: number }

/** One row: how far the meter is. */
export const meterState = pgTable(
  'meter_state',
  {
    id: integer().primaryKey().default(1),
    lastLookMs: bigId().notNull(),
    /** Hours before this one are on record. */
    recordedUntilMs: bigId().notNull(),
  },
  (t) => [oneRowCheck('meter_state', t.id)],
)
