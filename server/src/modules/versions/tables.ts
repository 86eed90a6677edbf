import { profiles, type Deployment } from '@shoal/contract'
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import { enumChecks } from '../../db/checks.ts'
import { orgs } from '../orgs/index.ts'

const bigId = () => bigint({ mode: 'number' })
const time = () => timestamp({ withTimezone: true })

export type LastDeploy = Pick<Deployment, 'id' | 'type' | 'status' | 'failed'> & {
  running: boolean
  /** The version runs what this deployment brought, whatever failed later. */
  isSwitched?: boolean
}

/** A version: what is wanted of it. What is true of it stands in the tables of observations below (design 1). */
export const squids = pgTable(
  'squids',
  {
    id: bigId().primaryKey().generatedAlwaysAsIdentity(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id),
    name: text().notNull(),
    slot: text().notNull(),
    description: text(),
    manifestRaw: text().notNull().default(''),
    manifestCurrent: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    /** `deploy.cors` of the manifest, so that gateways read no manifests. */
    cors: jsonb().generatedAlwaysAs(sql`manifest_current #> '{deploy,cors}'`),
    packageJson: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    /** Of the deployment that runs; null until the first one succeeded. */
    image: text(),
    /** Of the set of containers that serves; the workload's id is `<id>.<generation>`. Moving it is the switch of an update. */
    generation: integer().notNull().default(0),
    /** The highest generation ever begun, so that one that failed is never taken up again. */
    generationsUsed: integer().notNull().default(0),
    wanted: text({ enum: ['running', 'hibernated', 'deleted'] })
      .notNull()
      .default('running'),
    /** The runtime's Workload as JSON, sealed since its environment holds secrets; null when nothing should run. */
    sealedWorkload: text(),
    /** The secrets of that workload, and when they were read. */
    secretNames: jsonb().$type<string[]>().notNull().default([]),
    secretsReadAt: time(),
    apiReplicas: integer().notNull().default(0),
    apiProfile: text({ enum: profiles }),
    processorProfile: text({ enum: profiles }),
    processors: jsonb().$type<string[]>().notNull().default([]),
    isDedicated: boolean().notNull().default(false),
    /** Hosts of data sources that the code names; to name the one that does not answer. */
    sourceHosts: jsonb().$type<string[]>().notNull().default([]),
    /** Kept in step by the engine, so that reading a version needs no look at deployments. */
    lastDeploy: jsonb().$type<LastDeploy>(),
    createdAt: time()
      .notNull()
      .default(sql`now()`),
    deployedAt: time(),
    deployedBy: bigId(),
    hibernatedAt: time(),
  },
  (t) => [
    uniqueIndex('squids_org_name_slot').on(t.orgId, t.name, t.slot),
    uniqueIndex('squids_id_org_name').on(t.id, t.orgId, t.name),
    ...enumChecks('squids', t),
  ],
)

export const squidTags = pgTable(
  'squid_tags',
  {
    orgId: bigId().notNull(),
    squidName: text().notNull(),
    tag: text().notNull(),
    squidId: bigId().notNull(),
    setAt: time()
      .notNull()
      .default(sql`now()`),
  },
  // One version a tag among those of one name: moving a tag is one upsert.
  (t) => [
    primaryKey({ columns: [t.orgId, t.squidName, t.tag] }),
    index('squid_tags_squid').on(t.squidId, t.orgId, t.squidName),
    foreignKey({
      name: 'squid_tags_squid_fk',
      columns: [t.squidId, t.orgId, t.squidName],
      foreignColumns: [squids.id, squids.orgId, squids.name],
    }).onDelete('cascade'),
  ],
)
