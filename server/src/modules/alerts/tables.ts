import { alertSeverities, channelTypes, deliveryStatuses, deliverySubjects } from '@shoal/contract'
import type { AlertKind } from '@shoal/contract'
import { sql } from '../../db/sql.ts'
import {
  bigId,
  boolean,
  id,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  time,
  uniqueIndex,
  uuid,
} from '../../db/columns.ts'
import { enumChecks } from '../../db/checks.ts'
import { orgs } from '../orgs/index.ts'

const orgId = () =>
  bigId()
    .notNull()
    .references(() => orgs.id, { onDelete: 'cascade' })

// The `kind` columns have no CHECK, so that a release can add a rule without a migration.

/** The rules that an organization has changed. The others have the defaults in `alertRules` of the contract. */
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
    /** When the cause began, if that was observed; otherwise when it was first detected. */
    startedAt: time().notNull(),
    endedAt: time(),
    /** Whether a mute prevented notifications. */
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

/** Suppresses notifications until a time. A null `kind` or `squidId` matches all kinds or versions. */
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

/** The destinations of an organization's notifications. */
export const alertChannels = pgTable(
  'alert_channels',
  {
    id: id(),
    orgId: orgId(),
    type: text({ enum: channelTypes }).notNull(),
    name: text().notNull(),
    /** Null for the email channel, which sends to the address of the organization. */
    sealedUrl: text(),
    /** The key that signs deliveries; null except for webhooks. */
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

/** A message to one channel, with the result of the last attempt. */
export const alertDeliveries = pgTable(
  'alert_deliveries',
  {
    id: id(),
    orgId: orgId(),
    channelId: bigId()
      .notNull()
      .references(() => alertChannels.id, { onDelete: 'cascade' }),
    /** Null for a test message. */
    eventId: bigId().references(() => alertEvents.id, { onDelete: 'cascade' }),
    /** Whether the message is about the opening or the end of the alert, or is a test. */
    what: text({ enum: deliverySubjects }).notNull(),
    label: text().notNull(),
    /** The message as it was when the alert changed; a replay sends it unchanged. */
    body: jsonb().$type<Record<string, unknown>>().notNull(),
    status: text({ enum: deliveryStatuses }).notNull().default('PENDING'),
    tries: integer().notNull().default(0),
    httpStatus: integer(),
    error: text(),
    createdAt: time().notNull(),
    lastTriedAt: time(),
    nextTryAt: time(),
    /** The job that sends this delivery, while it is pending. The deliveries of a digest share one job. */
    jobId: uuid(),
  },
  (t) => [
    index('alert_deliveries_org').on(t.orgId, t.id),
    index('alert_deliveries_channel').on(t.channelId, t.id),
    index('alert_deliveries_pending')
      .on(t.channelId, t.id)
      .where(sql`${t.status} = 'PENDING'`),
    index('alert_deliveries_event').on(t.eventId),
    index('alert_deliveries_created').on(t.createdAt),
    ...enumChecks('alert_deliveries', t),
  ],
)
