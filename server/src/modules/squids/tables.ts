import type { Deployment, Profile } from '@shoal/contract'
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import { orgs } from '../orgs/index.ts'
import { unknownBlockRate, type BlockRate } from '../rpc/index.ts'

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
    packageJson: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    /** Of the deployment that runs; null until the first one succeeded. */
    image: text(),
    /** Of the set of containers that serves; the workload's id is `<id>.<generation>`. Moving it is the switch of an update. */
    generation: integer().notNull().default(0),
    /** The highest generation ever begun, so that one that failed is never taken up again. */
    generationsUsed: integer().notNull().default(0),
    wanted: text().$type<'running' | 'hibernated' | 'deleted'>().notNull().default('running'),
    /** The runtime's Workload as JSON, sealed since its environment holds secrets; null when nothing should run. */
    sealedWorkload: text(),
    /** The secrets of that workload, and when they were read. */
    secretNames: jsonb().$type<string[]>().notNull().default([]),
    secretsReadAt: time(),
    apiReplicas: integer().notNull().default(0),
    apiProfile: text().$type<Profile>(),
    processorProfile: text().$type<Profile>(),
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
  (t) => [uniqueIndex('squids_org_name_slot').on(t.orgId, t.name, t.slot)],
)

export const squidTags = pgTable(
  'squid_tags',
  {
    orgId: bigId().notNull(),
    squidName: text().notNull(),
    tag: text().notNull(),
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    setAt: time()
      .notNull()
      .default(sql`now()`),
  },
  // One version a tag among those of one name: moving a tag is one upsert.
  (t) => [primaryKey({ columns: [t.orgId, t.squidName, t.tag] }), index('squid_tags_squid').on(t.squidId)],
)

/** The database of a version with addon postgres. `role` owns it; `readRole` may only read (contract 6.3). */
export const squidDatabases = pgTable('squid_databases', {
  squidId: bigId()
    .primaryKey()
    .references(() => squids.id, { onDelete: 'cascade' }),
  database: text().notNull(),
  role: text().notNull(),
  sealedPassword: text().notNull(),
  readRole: text().notNull(),
  sealedReadPassword: text().notNull(),
  version: text().notNull(),
  profile: text().$type<Profile>().notNull(),
  maxExternalConnections: integer().notNull().default(0),
  totalBytes: bigId().notNull(),
  /** Null until measured. */
  usedBytes: bigId(),
  measuredAt: time(),
})

/** The images of a version that are kept, with what a rollback needs to come back whole. */
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

/** Every image that takes room on disk: known here until it was removed, whoever used it. */
export const images = pgTable(
  'images',
  {
    image: text().primaryKey(),
    /** No foreign key: the image outlives its organization until it is collected. */
    orgId: bigId().notNull(),
    bytes: bigId().notNull(),
    builtAt: time().notNull(),
  },
  (t) => [index('images_org').on(t.orgId)],
)

/** One row: names what this installation keeps outside its own database, so that two of them can share a Postgres. */
export const installation = pgTable('installation', {
  id: integer().primaryKey().default(1),
  prefix: text().notNull(),
})

/** One row: which host and data directory runs the squids. Its programs outlive its worker, so the claim does not expire. */
export const runtimeClaim = pgTable('runtime_claim', {
  installation: integer().primaryKey().default(1),
  runtime: text().notNull(),
  /** A random name that the data directory keeps. */
  host: text().notNull(),
  /** Host and data directory, in words for the operator. */
  place: text().notNull(),
  takenAt: time().notNull(),
})

/** Gateways that live, by a name each makes for itself. Times of this table are the database's. */
export const gateways = pgTable('gateways', {
  id: text().primaryKey(),
  seenAt: time().notNull(),
})

/** Which generation of a version a gateway leads to; written when that changes. Without foreign key to the version: the gateway removes it. */
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

/** How a run of a container ended; see `LastRun` of the runtime. */
export type RunEnd = 'done' | 'error' | 'oom' | 'evicted' | 'stopped'

/** What the runtime last said of each container, and what is counted over all its runs; written when it changes. */
export const containerStates = pgTable(
  'container_states',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
    container: text().notNull(),
    state: text().$type<'starting' | 'running' | 'finished' | 'backoff' | 'failed'>().notNull(),
    since: time().notNull(),
    /** Runs that began after a crash. */
    restarts: integer().notNull(),
    /** Without ten minutes of running between them. */
    crashesInARow: integer().notNull().default(0),
    /** In runs that ended. */
    oomKills: integer().notNull(),
    /** Of the last run that ended; null: none has, or its end was not seen. */
    exitCode: integer(),
    isOutOfMemory: boolean().notNull(),
    /** The newest run, up to which is counted; null: it has not run. */
    run: text(),
    /** -1: it has not run; null in rows of releases that did not know runs. */
    runOrdinal: integer(),
    /** Null: it goes on. */
    runEnd: text().$type<RunEnd>(),
    retryAt: time(),
    reason: text(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.container] })],
)

/** The newest runs of each container, as far as they were seen. They go with the container. */
export const containerRuns = pgTable(
  'container_runs',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
    container: text().notNull(),
    run: text().notNull(),
    /** Runs before it in the same container, as the runtime counts them. */
    ordinal: integer().notNull(),
    startedAt: time().notNull(),
    /** Null: it goes on, or its end was not seen. */
    endedAt: time(),
    exitCode: integer(),
    how: text().$type<RunEnd>(),
    /** Null: not known. */
    oomKills: integer(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.container, t.run] })],
)

/** What a processor's own metrics last said (contract 7). Gone with a new generation. */
export const processorStates = pgTable(
  'processor_states',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
    processor: text().notNull(),
    currentBlock: bigId().notNull(),
    totalBlocks: bigId().notNull(),
    blocksPerSecond: doublePrecision(),
    etaSeconds: doublePrecision(),
    /** 0 to 1. */
    syncRatio: doublePrecision(),
    /** Since its program started. */
    rpcRequests: bigId(),
    rpcFailures: bigId(),
    /** When `currentBlock` last moved. */
    progressedAt: time(),
    /** When `totalBlocks` last moved. */
    headMovedAt: time(),
    /** How `totalBlocks` usually moves. */
    headPace: jsonb().$type<BlockRate>().notNull().default(unknownBlockRate),
    /** What it indexes, when its environment names one chain of ours. */
    chain: text(),
    /** When it was last seen near its head, as it says itself; null: never. */
    caughtUpAt: time(),
    /** For how long it was seen to stand still although there was something to do; what nobody watched is not in it. */
    stillMs: bigId().notNull().default(0),
    /** It was seen at the very head of the chain, as others see it; otherwise it may wait until blocks are final. */
    followsHead: boolean().notNull().default(false),
    /** When its RPC node last answered it, exact to ten seconds; null where it counts no requests. */
    answeredAt: time(),
    /** How often its node usually answers it. */
    answerPace: jsonb().$type<BlockRate>().notNull().default(unknownBlockRate),
    /** When it last answered, exact to half a minute. */
    scrapedAt: time().notNull(),
    /** Since when it has not answered although its program runs. */
    unansweredSince: time(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.processor] })],
)

/** Of processors that hear nothing from their data source: what is known of it. There is no row of any other. */
export const processorSources = pgTable(
  'processor_sources',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
    processor: text().notNull(),
    /** Names the source as far as it is known, without keys. */
    sentence: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.processor] })],
)

/** What probing each replica of the api last said. */
export const apiStates = pgTable(
  'api_states',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
    container: text().notNull(),
    isAvailable: boolean().notNull(),
    since: time().notNull(),
    reason: text(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.container] })],
)
