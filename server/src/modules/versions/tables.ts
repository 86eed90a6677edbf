import { profiles, type Deployment } from '@shoal/contract'
import { sql } from '../../db/sql.ts'
import {
  bigId,
  boolean,
  foreignKey,
  id,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  time,
  uniqueIndex,
} from '../../db/columns.ts'
import { enumChecks } from '../../db/checks.ts'
import { orgs } from '../orgs/index.ts'

/** The last deployment of a version, as the version's row records it. */
export type LastDeploy = Pick<Deployment, 'id' | 'type' | 'status' | 'failed'> & {
  running: boolean
  /** Whether the version runs the code of this deployment. True even if a later step failed. */
  isSwitched?: boolean
  /** If this deployment only changed tags: the failed deployment before it, whose code the version still lacks. */
  failedBefore?: Omit<LastDeploy, 'running' | 'failedBefore'>
}

/** A version and its desired state. Its observed state is in the tables of `observing`. */
export const squids = pgTable(
  'squids',
  {
    id: id(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id),
    name: text().notNull(),
    slot: text().notNull(),
    description: text(),
    manifestRaw: text().notNull().default(''),
    manifestCurrent: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    /** `deploy.cors` of the manifest, so that gateways do not have to read manifests. */
    cors: jsonb().generatedAlwaysAs(sql`manifest_current #> '{deploy,cors}'`),
    packageJson: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    /** The image that the version runs; null until a deployment has succeeded. */
    image: text(),
    /** The serving generation; its workload has the id `<id>.<generation>`. An update switches by changing this number. */
    generation: integer().notNull().default(0),
    /** The highest generation ever used, so that the number of a failed one is not reused. */
    generationsUsed: integer().notNull().default(0),
    desiredState: text({ enum: ['running', 'hibernated', 'deleted'] })
      .notNull()
      .default('running'),
    /** The runtime's Workload as JSON, sealed because its environment contains secrets; null when nothing should run. */
    sealedWorkload: text(),
    /** The names of the secrets in that workload, and when their values were read. */
    secretNames: jsonb().$type<string[]>().notNull().default([]),
    secretsReadAt: time(),
    apiReplicas: integer().notNull().default(0),
    apiProfile: text({ enum: profiles }),
    hasuraReplicas: integer().notNull().default(0),
    hasuraProfile: text({ enum: profiles }),
    processorProfile: text({ enum: profiles }),
    processors: jsonb().$type<string[]>().notNull().default([]),
    isDedicated: boolean().notNull().default(false),
    /** Hosts of the data sources in the squid's code; named in messages about a data source that does not respond. */
    sourceHosts: jsonb().$type<string[]>().notNull().default([]),
    /** Updated by the deploy engine, so that reading a version does not need the table of deployments. */
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
    index('squids_image').on(t.image),
    ...enumChecks('squids', t),
  ],
)

/** The tags of versions. */
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
  // A tag belongs to one version of a squid, so moving it is one upsert.
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

/** Messages of Shoal to the users of a version, until the log ingest moves them to the version's log. */
export const squidNotices = pgTable(
  'squid_notices',
  {
    id: id(),
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    at: time().notNull(),
    /** The container whose log shows the message: `db` for the database. */
    container: text().notNull(),
    message: text().notNull(),
  },
  (t) => [index('squid_notices_squid').on(t.squidId)],
)
