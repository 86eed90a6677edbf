import { alertSeverities, channelTypes, deliveryStatuses, deliverySubjects } from '@shoal/contract'
import type { AlertKind } from '@shoal/contract'
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { timestamp, uniqueIndex } from 'drizzle-orm/pg-core'
import { enumChecks } from '../../db/checks.ts'
import { orgs } from '../orgs/index.ts'

const bigId = () => bigint({ mode: 'number' })
const id = () => bigId().primaryKey().generatedAlwaysAsIdentity()
const time = () => timestamp({ withTimezone: true })
const orgId = () =>
  bigId()
    .notNull()
    .references(() => orgs.id, { onDelete: 'cascade' })

// Columns of kinds have no CHECK: rules come with releases, and a rule is added without a migration.

/** What an organization changed of a rule; the others are as `alertRules` of the contract has them. */
export const alertRules = pgTable(
  'alert_rules',
  {
    orgId: orgId(),
    kind: text().$type<AlertKind>().notNull(),
    isEnabled: boolean().notNull(),
    threshold: integer(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.kind] })],
)

/** An alert, open until `endedAt`; of one cause only one is open. It outlives the version it speaks of. */
export const alertEvents = pgTable(
  'alert_events',
  {
    id: id(),
    orgId: orgId(),
    kind: text().$type<AlertKind>().notNull(),
    severity: text({ enum: alertSeverities }).notNull(),
    /** Null for what concerns the organization as a whole. */
    squidId: bigId(),
    squidName: text(),
    squidSlot: text(),
    container: text(),
    label: text().notNull(),
    reason: text().notNull(),
    /** When its cause began, as far as that was seen; not when it was noticed. */
    startedAt: time().notNull(),
    endedAt: time(),
    /** No channel was notified. */
    isMuted: boolean().notNull().default(false),
  },
  (t) => [
    uniqueIndex('alert_events_open')
      .on(t.orgId, t.kind, sql`coalesce(${t.squidId}, 0)`, sql`coalesce(${t.container}, '')`)
      .where(sql`${t.endedAt} is null`),
    index('alert_events_org').on(t.orgId, t.id),
    index('alert_events_ended').on(t.endedAt),
    ...enumChecks('alert_events', t),
  ],
)

/** Suppresses notifications until then: of a kind, of a version, of both together; of everything if both are null. */
export const alertMutes = pgTable(
  'alert_mutes',
  {
    id: id(),
    orgId: orgId(),
    kind: text().$type<AlertKind>(),
    /** A mute of a version that was deleted says nothing and runs out. */
    squidId: bigId(),
    squidName: text(),
    squidSlot: text(),
    until: time().notNull(),
    /** The name of who asked for it. */
    createdBy: text().notNull(),
  },
  (t) => [index('alert_mutes_org').on(t.orgId)],
)

export const alertChannels = pgTable(
  'alert_channels',
  {
    id: id(),
    orgId: orgId(),
    type: text({ enum: channelTypes }).notNull(),
    name: text().notNull(),
    /** Null for e-mail, which goes to the address of the organization. */
    sealedUrl: text(),
    /** Of webhooks: what their deliveries are signed with. */
    sealedSigningSecret: text(),
    isEnabled: boolean().notNull().default(true),
    createdAt: time().notNull(),
  },
  (t) => [
    index('alert_channels_org').on(t.orgId),
    uniqueIndex('alert_channels_email')
      .on(t.orgId)
      .where(sql`${t.type} = 'email'`),
    ...enumChecks('alert_channels', t),
  ],
)

/** What is to be sent, and what came of it. */
export const alertDeliveries = pgTable(
  'alert_deliveries',
  {
    id: id(),
    orgId: orgId(),
    channelId: bigId()
      .notNull()
      .references(() => alertChannels.id, { onDelete: 'cascade' }),
    /** Null for a test. */
    eventId: bigId().references(() => alertEvents.id, { onDelete: 'cascade' }),
    what: text({ enum: deliverySubjects }).notNull(),
    label: text().notNull(),
    /** The message at that time: a replay sends the same. */
    body: jsonb().$type<Record<string, unknown>>().notNull(),
    status: text({ enum: deliveryStatuses }).notNull().default('PENDING'),
    tries: integer().notNull().default(0),
    httpStatus: integer(),
    error: text(),
    createdAt: time().notNull(),
    lastTriedAt: time(),
    nextTryAt: time(),
  },
  (t) => [
    index('alert_deliveries_org').on(t.orgId, t.id),
    index('alert_deliveries_channel').on(t.channelId, t.id),
    index('alert_deliveries_due')
      .on(t.nextTryAt)
      .where(sql`${t.status} = 'PENDING'`),
    index('alert_deliveries_event').on(t.eventId),
    ...enumChecks('alert_deliveries', t),
  ],
)
