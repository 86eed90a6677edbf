import { incidentImpacts, incidentStates, type StatusAlertKind } from '@shoal/contract'
import {
  bigId,
  boolean,
  date,
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
import { sql } from '../../db/sql.ts'
import { orgs } from '../orgs/index.ts'

const orgId = () =>
  bigId()
    .notNull()
    .references(() => orgs.id, { onDelete: 'cascade' })

/** The public status page of an organization. Organizations without a row have never saved the settings. */
export const statusPages = pgTable(
  'status_pages',
  {
    orgId: orgId().primaryKey(),
    isEnabled: boolean().notNull(),
    title: text().notNull(),
    slug: text().notNull(),
    /** The alerts that open an incident. Without a CHECK, so that a release can add a kind without a migration. */
    alertKinds: jsonb().$type<StatusAlertKind[]>().notNull(),
  },
  (t) => [uniqueIndex('status_pages_slug').on(t.slug)],
)

/** Slugs that pages had before. They stay reserved, so that another organization cannot take over links to a page. */
export const statusReservedSlugs = pgTable(
  'status_held_slugs',
  {
    slug: text().primaryKey(),
    /** Null if the organization was deleted. */
    orgId: bigId().references(() => orgs.id, { onDelete: 'set null' }),
    until: time().notNull(),
  },
  (t) => [index('status_held_slugs_org').on(t.orgId), index('status_held_slugs_until').on(t.until)],
)

/** The tags on a status page. No foreign key to the tag, because the tag may be moved, removed and set again. */
export const statusTags = pgTable(
  'status_tags',
  {
    id: id(),
    orgId: orgId(),
    squidName: text().notNull(),
    tag: text().notNull(),
    /** The name on the page. */
    name: text().notNull(),
    position: integer().notNull(),
    addedAt: time().notNull(),
    /** The time up to which `status_days` contains how long the tag was up. */
    measuredUntil: time().notNull(),
    /** The minute up to which `status_days` contains requests. */
    countedUntil: time().notNull(),
  },
  (t) => [uniqueIndex('status_tags_tag').on(t.orgId, t.squidName, t.tag)],
)

/** The measurements of a tag in one UTC day: those of the version that had the tag at the time. */
export const statusDays = pgTable(
  'status_days',
  {
    tagId: bigId()
      .notNull()
      .references(() => statusTags.id, { onDelete: 'cascade' }),
    day: date({ mode: 'string' }).notNull(),
    requests: bigId().notNull().default(0),
    /** Requests that the squid or the gateway failed to serve. */
    failures: bigId().notNull().default(0),
    /** Milliseconds with at least one healthy api, without one, and hibernated by the owner. The rest of the day was not measured. */
    upMs: bigId().notNull().default(0),
    downMs: bigId().notNull().default(0),
    hibernatedMs: bigId().notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.tagId, t.day] }), index('status_days_day').on(t.day)],
)

export const statusIncidents = pgTable(
  'status_incidents',
  {
    /** Random, since it is public. */
    id: uuid().primaryKey().defaultRandom(),
    orgId: orgId(),
    title: text().notNull(),
    impact: text({ enum: incidentImpacts }).notNull(),
    tags: jsonb().$type<{ squid: string; tag: string }[]>().notNull(),
    /** The alert that opened the incident; null if a member did. No foreign key, since incidents outlive alerts. */
    alertId: bigId(),
    startedAt: time().notNull(),
    resolvedAt: time(),
    /** Set when a member removed the incident of an alert, so that the same alert does not open it again. */
    removedAt: time(),
    /** When a member last changed the title, the impact, the tags or a text; null if never. */
    editedAt: time(),
    /** Whether the end of the alert resolves the incident. False after a member opened it again. */
    followsAlert: boolean().notNull().default(true),
  },
  (t) => [
    index('status_incidents_org').on(t.orgId, t.startedAt),
    uniqueIndex('status_incidents_alert').on(t.alertId),
    index('status_incidents_open')
      .on(t.orgId)
      .where(sql`${t.resolvedAt} is null`),
    index('status_incidents_resolved').on(t.resolvedAt),
    ...enumChecks('status_incidents', t),
  ],
)

export const statusUpdates = pgTable(
  'status_updates',
  {
    id: id(),
    incidentId: uuid()
      .notNull()
      .references(() => statusIncidents.id, { onDelete: 'cascade' }),
    at: time().notNull(),
    state: text({ enum: incidentStates }).notNull(),
    text: text().notNull(),
  },
  (t) => [index('status_updates_incident').on(t.incidentId, t.id), ...enumChecks('status_updates', t)],
)
