import { deploymentFailures, deploymentStatuses, deploymentTypes, logSeverities } from '@shoal/contract'
import type { DeploymentFailure, DeploymentStatus } from '@shoal/contract'
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { enumChecks } from '../../db/checks.ts'
import { orgs } from '../orgs/index.ts'
import { users } from '../user/index.ts'
import { squids } from '../versions/index.ts'

const bigId = () => bigint({ mode: 'number' })
const time = () => timestamp({ withTimezone: true })

export type DeploymentNotes = {
  manifestRaw?: string
  packageJson?: Record<string, unknown>
  imageBytes?: number
  sourceHosts?: string[]
  generation?: number
  /** The Workload of that generation with its init, sealed. */
  sealedWorkload?: string
  secretNames?: string[]
  secretsReadAt?: string
  rollout?: RolloutPhase
  /** The step that waited in a queue and left it: its time started then, and does not start again. */
  leftQueue?: DeploymentStatus
  /** The failure is decided, but the clean-up has not finished. */
  failure?: { kind: Exclude<DeploymentFailure, 'NO'>; message: string }
}

/** The progress of SQUID_SYNCING; never moves back. */
export type RolloutPhase = 'init' | 'api' | 'processors' | 'switched'

/** The row is the durable job: the worker that holds its advisory lock runs it, and may die at any point. */
export const deployments = pgTable(
  'deployments',
  {
    id: bigId().primaryKey().generatedAlwaysAsIdentity(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    /** No foreign key: a deployment outlives the version it deleted. */
    squidId: bigId().notNull(),
    squidName: text().notNull(),
    squidSlot: text().notNull(),
    /** The request named no slot, so the manifest may still name one. */
    isSlotGenerated: boolean().notNull().default(false),
    type: text({ enum: deploymentTypes }).notNull(),
    status: text({ enum: deploymentStatuses }).notNull(),
    failed: text({ enum: deploymentFailures }).notNull().default('NO'),
    failureReason: text(),
    tag: text(),
    uploadId: uuid(),
    manifestPath: text(),
    /** For a rollback: the deployment whose image to restore. */
    sourceDeploymentId: bigId(),
    userId: bigId().references(() => users.id, { onDelete: 'set null' }),
    /** Identifies the request: a repeated request finds the deployment that the first one started. */
    requestKey: text().notNull(),
    /** Counts the workers that claimed it; writes of earlier ones are refused. */
    attempt: integer().notNull().default(0),
    /** Results of earlier steps, needed after a resume; emptied at the end. Secrets in it are sealed. */
    notes: jsonb().$type<DeploymentNotes>().notNull().default({}),
    image: text(),
    deadlineAt: time(),
    createdAt: time().notNull(),
    updatedAt: time().notNull(),
    finishedAt: time(),
  },
  (t) => [
    uniqueIndex('deployments_one_at_a_time')
      .on(t.squidId)
      .where(sql`finished_at is null`),
    index('deployments_org').on(t.orgId, t.id),
    index('deployments_squid').on(t.squidId, t.id),
    index('deployments_request').on(t.requestKey),
    index('deployments_user').on(t.userId),
    index('deployments_finished').on(t.finishedAt),
    ...enumChecks('deployments', t),
    index('deployments_unfinished')
      .on(t.id)
      .where(sql`finished_at is null`),
  ],
)

export const deploymentLogs = pgTable(
  'deployment_logs',
  {
    deploymentId: bigId()
      .notNull()
      .references(() => deployments.id, { onDelete: 'cascade' }),
    /** 0, 1, 2 …: append-only. */
    seq: integer().notNull(),
    at: time().notNull(),
    severity: text({ enum: logSeverities }).notNull(),
    message: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.deploymentId, t.seq] }), ...enumChecks('deployment_logs', t)],
)

export const deploymentSteps = pgTable(
  'deployment_steps',
  {
    deploymentId: bigId()
      .notNull()
      .references(() => deployments.id, { onDelete: 'cascade' }),
    seq: integer().notNull(),
    status: text({ enum: deploymentStatuses }).notNull(),
    startedAt: time().notNull(),
    finishedAt: time(),
  },
  (t) => [primaryKey({ columns: [t.deploymentId, t.seq] }), ...enumChecks('deployment_steps', t)],
)

/** An archive of a squid. Its file is named by its sha256; several uploads may share one. */
export const uploads = pgTable(
  'uploads',
  {
    id: uuid().primaryKey(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    userId: bigId().references(() => users.id, { onDelete: 'set null' }),
    sha256: text(),
    bytes: bigId(),
    createdAt: time().notNull(),
    receivedAt: time(),
  },
  (t) => [
    index('uploads_sha256').on(t.sha256),
    index('uploads_org').on(t.orgId, t.createdAt),
    index('uploads_user').on(t.userId),
  ],
)

/** The kept images of a version, with everything a rollback needs. */
export const squidImages = pgTable(
  'squid_images',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    deploymentId: bigId().notNull(),
    image: text().notNull(),
    manifestRaw: text().notNull(),
    manifestCurrent: jsonb().$type<Record<string, unknown>>().notNull(),
    packageJson: jsonb().$type<Record<string, unknown>>().notNull(),
    bytes: bigId().notNull(),
    createdAt: time().notNull(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.deploymentId] }), index('squid_images_image').on(t.image)],
)

/** Every image on disk, until it is removed. */
export const images = pgTable(
  'images',
  {
    image: text().primaryKey(),
    /** No foreign key: the image exists until it is removed, even after its organization. */
    orgId: bigId().notNull(),
    bytes: bigId().notNull(),
    builtAt: time().notNull(),
  },
  (t) => [index('images_org').on(t.orgId)],
)

/** Running gateways, each with a generated name. Times in this table are the database's. */
export const gateways = pgTable('gateways', {
  id: text().primaryKey(),
  seenAt: time().notNull(),
})

/** The generation of a version that a gateway routes to; written on changes. No foreign key to the version: the gateway deletes the row. */
export const gatewayRoutes = pgTable(
  'gateway_routes',
  {
    squidId: bigId().notNull(),
    gateway: text()
      .notNull()
      .references(() => gateways.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.gateway] }), index('gateway_routes_gateway').on(t.gateway)],
)
