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

// Columns of kinds have no CHECK, so that a release can add a rule without a migration.

/** The rules that an organization has changed. For all others the defaults in `alertRules` of the contract apply. */
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

/** An alert, open until `endedAt`. Each cause has at most one open alert. An alert outlives its version. */
export const alertEvents = pgTable(
  'alert_events',
  {
    id: id(),
    orgId: orgId(),
    kind: text().$type<AlertKind>().notNull(),
    severity: text({ enum: alertSeverities }).notNull(),
    /** Null for an alert about the organization. */
    squidId: bigId(),
    squidName: text(),
    squidSlot: text(),
    container: text(),
    label: text().notNull(),
    reason: text().notNull(),
    /** When its cause began, if that was observed; otherwise when it was first noticed. */
    startedAt: time().notNull(),
    endedAt: time(),
    /** It was muted: no channel was notified. */
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

/** Suppresses notifications until a time: of a kind, of a version, or of a kind for a version; all if both are null. */
export const alertMutes = pgTable(
  'alert_mutes',
  {
    id: id(),
    orgId: orgId(),
    kind: text().$type<AlertKind>(),
    /** No foreign key: the mute of a deleted version has no effect and expires. */
    squidId: bigId(),
    squidName: text(),
    squidSlot: text(),
    until: time().notNull(),
    /** The name of the member who created it. */
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
    /** The key that signs deliveries; webhooks only. */
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

/** Messages to send, with the result of the last attempt. */
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
    /** The message as of the change; a replay sends it unchanged. */
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
