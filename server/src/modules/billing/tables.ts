import { atCapActions, type PaymentMethod, type Receipt } from '@shoal/contract'
import { bigint, boolean, date, index, integer, jsonb, numeric, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { timestamp, uniqueIndex } from 'drizzle-orm/pg-core'
import { enumChecks, oneRowCheck } from '../../db/checks.ts'
import { orgs } from '../orgs/index.ts'

const bigId = () => bigint({ mode: 'number' })
const time = () => timestamp({ withTimezone: true })
const dollars = () => numeric({ precision: 24, scale: 8 })

/** Billing data of an organization; created on first use. */
export const billingAccounts = pgTable(
  'billing_accounts',
  {
    orgId: bigId()
      .primaryKey()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    /** The provider's id. */
    customerId: text(),
    /** Set by the operator; applies to everything an organization uses. */
    discountPercent: numeric({ precision: 5, scale: 2 }).notNull().default('0'),
    spendCapUsd: numeric({ precision: 12, scale: 2 }),
    atCap: text({ enum: atCapActions }).notNull().default('stop_deploys'),
    hibernateOrder: jsonb().$type<string[]>().notNull().default([]),
    rpcRequestsCap: bigId(),
    /** The highest cap warning that was mailed, and its month. */
    warnedPercent: integer().notNull().default(0),
    warnedMonth: text(),
    /** When charges began to fail; null while everything is paid. */
    failingSince: time(),
    /** Attempts after the first one. */
    retries: integer().notNull().default(0),
    nextRetryAt: time(),
  },
  (t) => enumChecks('billing_accounts', t),
)

export const paymentMethods = pgTable(
  'payment_methods',
  {
    /** The provider's id. */
    id: text().primaryKey(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    shown: jsonb().$type<Omit<PaymentMethod, 'id'>>().notNull(),
    addedAt: time().notNull(),
    /** The highest rank of an organization is its default. */
    rank: integer().notNull().default(0),
  },
  (t) => [index('payment_methods_org').on(t.orgId)],
)

/** Observed running programs and stored data over time; the current hour is computed from these. */
export const usageSpans = pgTable(
  'usage_spans',
  {
    orgId: bigId().notNull(),
    squidId: bigId().notNull(),
    /** `name@slot` */
    squidName: text().notNull(),
    /** Within the version: `api-2`, a processor's name, `db`. */
    resource: text().notNull(),
    /** The type as on receipts. */
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
 * Usage records, append-only: one per resource and hour, and further parts for usage that became known later. The key depends only
 * on what is measured, so a repetition adds nothing. No foreign keys: records outlive their subjects.
 */
export const usageRecords = pgTable(
  'usage_records',
  {
    orgId: bigId().notNull(),
    /** Null for requests not made by a squid. */
    squidId: bigId(),
    squidName: text(),
    source: text({ enum: ['containers', 'databases', 'rpc'] }).notNull(),
    /** `<squid>/<resource>/<type>/<size>` */
    resource: text().notNull(),
    type: text().notNull(),
    /** Start of the hour, whose prices apply. */
    hour: time().notNull(),
    part: integer().notNull(),
    /** ms, byte-ms or requests. */
    quantity: numeric({ precision: 40, scale: 0 }).notNull(),
    /** `yyyy-MM` of the receipt it is on: that of the hour, or the first open month if that is closed. */
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

/** Closed months. The receipt never changes; only its payment. */
export const invoices = pgTable(
  'invoices',
  {
    /** Without gaps. */
    number: integer().primaryKey(),
    orgId: bigId().notNull(),
    month: text().notNull(),
    closedAt: time().notNull(),
    receipt: jsonb().$type<Receipt>().notNull(),
    /** As of when the month was closed. */
    customer: jsonb().$type<InvoiceCustomer>().notNull(),
    /** Seller in lines, from the price book at that time. */
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

/** Attempts to charge. The key is stored before the provider is called, so that a repetition does not charge twice. */
export const charges = pgTable(
  'charges',
  {
    /** Idempotency key sent to the provider. */
    key: text().primaryKey(),
    invoice: integer()
      .notNull()
      .references(() => invoices.number),
    orgId: bigId().notNull(),
    paymentMethodId: text().notNull(),
    amountCents: bigId().notNull(),
    status: text({ enum: ['asking', 'succeeded', 'failed'] }).notNull(),
    /** The provider's id. */
    providerId: text(),
    failure: text(),
    at: time().notNull(),
  },
  (t) => [index('charges_invoice').on(t.invoice), ...enumChecks('charges', t)],
)

/** Handled events of the provider: each is applied once. */
export const billingEvents = pgTable('billing_events', { id: text().primaryKey(), at: time().notNull() })

/** Versions that billing hibernated and will restart. */
export const billingHibernations = pgTable(
  'billing_hibernations',
  {
    squidId: bigId().primaryKey(),
    orgId: bigId().notNull(),
    squidName: text().notNull(),
    reason: text({ enum: ['debt', 'cap'] }).notNull(),
    month: text().notNull(),
    /** Restart requested; the row is deleted when the restart has begun. */
    isWaking: boolean().notNull().default(false),
    at: time().notNull(),
  },
  (t) => enumChecks('billing_hibernations', t),
)

/** Set-ups of the test provider, like Stripe's. */
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

/** One row: progress of the meter. */
export const meterState = pgTable(
  'meter_state',
  {
    id: integer().primaryKey().default(1),
    lastLookMs: bigId().notNull(),
    /** Hours before this one are recorded. */
    recordedUntilMs: bigId().notNull(),
  },
  (t) => [oneRowCheck('meter_state', t.id)],
)
