import { atCapActions, type PaymentMethod, type Receipt } from '@shoal/contract'
import {
  bigId,
  boolean,
  date,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  time,
  uniqueIndex,
} from '../../db/columns.ts'
import { enumChecks, oneRowCheck } from '../../db/checks.ts'
import { sql } from '../../db/sql.ts'
import { orgs } from '../orgs/index.ts'

const dollars = () => numeric({ precision: 24, scale: 8 })

/** Billing data of an organization; created on first use. */
export const billingAccounts = pgTable(
  'billing_accounts',
  {
    orgId: bigId()
      .primaryKey()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    /** The id of the customer at the provider. */
    customerId: text(),
    /** The discount that the operator set; applies to all usage of the organization. */
    discountPercent: numeric({ precision: 5, scale: 2 }).notNull().default('0'),
    spendCapUsd: numeric({ precision: 12, scale: 2 }),
    atCap: text({ enum: atCapActions }).notNull().default('stop_deploys'),
    /** The names of squids, in the order in which the cap hibernates them. */
    hibernateOrder: jsonb().$type<string[]>().notNull().default([]),
    rpcRequestsCap: bigId(),
    /** The highest cap warning that was emailed in `warnedMonth`, in percent. */
    warnedPercent: integer().notNull().default(0),
    warnedMonth: text(),
    /** When charges began to fail, or the operator set a status for unpaid invoices; null otherwise. */
    failingSince: time(),
    /** The number of scheduled retries that have failed since `failingSince`. */
    retries: integer().notNull().default(0),
    nextRetryAt: time(),
  },
  (t) => enumChecks('billing_accounts', t),
)

/** The cards and Link accounts of organizations. */
export const paymentMethods = pgTable(
  'payment_methods',
  {
    /** The id of the payment method at the provider. */
    id: text().primaryKey(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    details: jsonb().$type<Omit<PaymentMethod, 'id'>>().notNull(),
    addedAt: time().notNull(),
    /** The method with the highest rank is the organization's default. */
    rank: integer().notNull().default(0),
  },
  (t) => [index('payment_methods_org').on(t.orgId)],
)

/** Periods in which running programs and stored data were observed. The usage of the current hour is computed from them. */
export const usageSpans = pgTable(
  'usage_spans',
  {
    orgId: bigId().notNull(),
    squidId: bigId().notNull(),
    /** `name@slot` */
    squidName: text().notNull(),
    /** Unique within the version: `api-2`, a processor's name, `db`, `disk`. */
    resource: text().notNull(),
    /** The type on receipts: `api.small`, `storage`. */
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
 * Usage records, append-only: one per resource and hour, and further parts for usage that was observed late. The key depends only
 * on the resource, the hour and the part, so recording the same usage twice adds nothing. No foreign keys, because records
 * outlive squids and organizations.
 */
export const usageRecords = pgTable(
  'usage_records',
  {
    orgId: bigId().notNull(),
    /** Null for RPC requests that no squid made. */
    squidId: bigId(),
    squidName: text(),
    source: text({ enum: ['containers', 'databases', 'rpc'] }).notNull(),
    /** `<squid>/<resource>/<type>/<size>`; for RPC requests `<organization>/rpc/<version>`. */
    resource: text().notNull(),
    type: text().notNull(),
    /** Start of the hour, which determines the prices. */
    hour: time().notNull(),
    part: integer().notNull(),
    /** Milliseconds for programs, bytes multiplied by milliseconds for storage, or a number of requests. */
    quantity: numeric({ precision: 40, scale: 0 }).notNull(),
    /** The month of the receipt as `yyyy-MM`: the month of `hour`, or the first open month if that month is closed. */
    month: text().notNull(),
    recordedAt: time().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.source, t.resource, t.hour, t.part] }),
    index('usage_records_org_month').on(t.orgId, t.month),
    index('usage_records_org_hour').on(t.orgId, t.hour),
    index('usage_records_hour').on(t.hour),
    ...enumChecks('usage_records', t),
  ],
)

/** Invoices of closed months. Only `paidAt` ever changes. */
export const invoices = pgTable(
  'invoices',
  {
    /** Consecutive, without gaps. */
    number: integer().primaryKey(),
    orgId: bigId().notNull(),
    month: text().notNull(),
    closedAt: time().notNull(),
    receipt: jsonb().$type<Receipt>().notNull(),
    /** The customer's details when the month was closed. */
    customer: jsonb().$type<InvoiceCustomer>().notNull(),
    /** Lines of the seller's address, from the price book when the month was closed. */
    seller: jsonb().$type<string[]>().notNull().default([]),
    totalUsd: dollars().notNull(),
    paidAt: time(),
  },
  (t) => [
    uniqueIndex('invoices_org_month').on(t.orgId, t.month),
    index('invoices_unpaid')
      .on(t.orgId)
      .where(sql`${t.paidAt} is null`),
  ],
)
/** The customer on an invoice. */
export type InvoiceCustomer = {
  code: string
  name: string
  details: typeof orgs.$inferSelect.billingDetails
}

/**
 * Attempts to charge an invoice. The row is stored before the provider is called, so that a retry has the same key and charges
 * only once.
 */
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
    status: text({ enum: ['pending', 'succeeded', 'failed'] }).notNull(),
    /** The id of the payment at the provider. */
    providerId: text(),
    failure: text(),
    at: time().notNull(),
  },
  (t) => [index('charges_invoice').on(t.invoice), index('charges_at').on(t.at), ...enumChecks('charges', t)],
)

/** Processed events of the provider, so that each is applied only once. */
export const billingEvents = pgTable('billing_events', { id: text().primaryKey(), at: time().notNull() }, (t) => [
  index('billing_events_at').on(t.at),
])

/** Versions that billing, or the suspension of their organization, hibernates and later restarts. */
export const billingHibernations = pgTable(
  'billing_hibernations',
  {
    squidId: bigId().primaryKey(),
    orgId: bigId().notNull(),
    squidName: text().notNull(),
    reason: text({ enum: ['debt', 'cap', 'suspension'] }).notNull(),
    month: text().notNull(),
    /** Whether a restart is requested. The row is deleted when the restart has begun. */
    isRestartRequested: boolean('is_waking').notNull().default(false),
    at: time().notNull(),
  },
  (t) => [...enumChecks('billing_hibernations', t), index('billing_hibernations_org').on(t.orgId)],
)

/** Payment method setups of the test provider, modelled on Stripe's SetupIntents. */
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
/** A card that was entered in the form of the test provider. */
export type TestProviderCard = { number: string; expMonth: number; expYear: number }

/** The progress of the meter, in one row. */
export const meterState = pgTable(
  'meter_state',
  {
    id: integer().primaryKey().default(1),
    observedAtMs: bigId().notNull(),
    /** The usage of all hours before this time has been recorded. */
    recordedUntilMs: bigId().notNull(),
  },
  (t) => [oneRowCheck('meter_state', t.id)],
)
