import { deploymentFailures, deploymentOperations, deploymentStatuses, logSeverities } from '@shoal/contract'
import type { DeploymentFailure, DeploymentStatus } from '@shoal/contract'
import { sql } from '../../db/sql.ts'
import {
  bigId,
  boolean,
  customType,
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
import { users } from '../auth/index.ts'
import { squids } from '../versions/index.ts'

const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

/** The results of steps that later steps need, or a worker that resumes the deployment. */
export type DeploymentNotes = {
  manifestRaw?: string
  packageJson?: Record<string, unknown>
  imageBytes?: number
  /** Hosts of the data sources in the squid's code. */
  sourceHosts?: string[]
  /** The new generation. */
  generation?: number
  /** The Workload of that generation with its init, sealed. */
  sealedWorkload?: string
  /** The names of the secrets in that workload, and when their values were read. */
  secretNames?: string[]
  secretsReadAt?: string
  rollout?: RolloutPhase
  /** The move of the version's database. Releases that do not support moves only restart or hibernate the version. */
  move?: DatabaseMove
  /** The step that has left its queue. Its deadline was restarted at that moment, and is not restarted when a worker resumes it. */
  leftQueue?: DeploymentStatus
  /** Set when the deployment has failed but its clean-up has not finished. */
  failure?: { kind: Exclude<DeploymentFailure, 'NO'>; message: string }
}

/** The servers of a database's move, and the time without processors that was estimated for the operator; null without an estimate. */
export type DatabaseMove = {
  from: string
  to: string
  estimateMs: number | null
  /** When the processors were stopped. */
  stoppedAt?: string
}

/**
 * The current phase of SQUID_SYNCING; `switched`: the version has the new generation. Returns to an earlier phase only when the move
 * of a database is tried again before the switch.
 */
export type RolloutPhase = 'init' | 'api' | 'processors' | 'switched'

/** The row is the durable job: the worker that holds its advisory lock runs it, and can be killed at any point. */
export const deployments = pgTable(
  'deployments',
  {
    id: id(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    /** Not a foreign key, because a deployment outlives the version that it deleted. */
    squidId: bigId().notNull(),
    squidName: text().notNull(),
    squidSlot: text().notNull(),
    /** Whether the request contained no slot, so that the slot of the manifest is used if it has one. */
    isSlotGenerated: boolean().notNull().default(false),
    /** The operation; `displayedTypeOf` of `deployment-type.ts` returns the type that users see. */
    type: text({ enum: deploymentOperations }).notNull(),
    /** The current or last step. */
    status: text({ enum: deploymentStatuses }).notNull(),
    failed: text({ enum: deploymentFailures }).notNull().default('NO'),
    failureReason: text(),
    tag: text(),
    uploadId: uuid(),
    manifestPath: text(),
    /** For a rollback: the deployment whose image to restore. */
    sourceDeploymentId: bigId(),
    /**
     * For a rollback: whether the version already runs that image. A separate column, because the previous release does not support the type
     * `REDEPLOY`.
     */
    isRedeploy: boolean().notNull().default(false),
    userId: bigId().references(() => users.id, { onDelete: 'set null' }),
    /** Idempotency key: a repeated request returns the deployment that the first one started. */
    requestKey: text().notNull(),
    /** The number of workers that have claimed the deployment. Only the last one may write. */
    attempt: integer().notNull().default(0),
    /** The replica that claimed it last, as `host/pid`; null before the first claim. */
    worker: text(),
    /** Results of completed steps, needed to resume; cleared at the end. Secrets in them are sealed. */
    notes: jsonb().$type<DeploymentNotes>().notNull().default({}),
    image: text(),
    /** The deadline of the current step. */
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
    index('deployments_upload').on(t.uploadId),
    index('deployments_finished').on(t.finishedAt),
    ...enumChecks('deployments', t),
    index('deployments_unfinished')
      .on(t.id)
      .where(sql`finished_at is null`),
  ],
)

/** The log of each deployment. */
export const deploymentLogs = pgTable(
  'deployment_logs',
  {
    deploymentId: bigId()
      .notNull()
      .references(() => deployments.id, { onDelete: 'cascade' }),
    /** The number of the line: 0, 1, 2 … */
    seq: integer().notNull(),
    at: time().notNull(),
    severity: text({ enum: logSeverities }).notNull(),
    message: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.deploymentId, t.seq] }), ...enumChecks('deployment_logs', t)],
)

/** The files of a deployment's archive, as a `FileList` in gzipped JSON. Archives themselves are deleted after a day. */
export const deploymentFiles = pgTable('deployment_files', {
  deploymentId: bigId()
    .primaryKey()
    .references(() => deployments.id, { onDelete: 'cascade' }),
  content: bytes().notNull(),
})

/** The steps of each deployment that have begun. */
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

/** An archive of a squid. Its file is named after its sha256, so several uploads may share one. */
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
    /** Null until the whole archive has arrived. */
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

/** The images on disk. */
export const images = pgTable(
  'images',
  {
    image: text().primaryKey(),
    /** Not a foreign key, because an image may outlive its organization until it is removed. */
    orgId: bigId().notNull(),
    bytes: bigId().notNull(),
    builtAt: time().notNull(),
  },
  (t) => [index('images_org').on(t.orgId)],
)

/** Running gateways, each with a generated id. Times in this table are from the database's clock. */
export const gateways = pgTable('gateways', {
  id: text().primaryKey(),
  seenAt: time().notNull(),
})

/**
 * The generation to which a gateway routes a version, written when it changes. There is no foreign key to the version: the gateway
 * deletes the row.
 */
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
