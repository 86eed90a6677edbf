import { oneRowCheck } from '../../db/checks.ts'
import {
  bigId,
  doublePrecision,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  time,
  type AnyPgColumn,
} from '../../db/columns.ts'
import { sql } from '../../db/sql.ts'

/**
 * Lets a roll-up find the newest buckets of all versions in a partition. BRIN, because rows are stored nearly in the order of their times:
 * the index has one entry for each MiB, so writing a row costs almost nothing. The index is on the time in UTC, which only roll-ups compare:
 * Postgres would otherwise use it also for the newest buckets of one version, and read those of all versions.
 */
const timeRanges = (table: string, at: AnyPgColumn) =>
  index(`${table}_at`)
    .using('brin', sql`(${at} at time zone 'UTC')`)
    .with({ autosummarize: true })

/** `at` is the start of the bucket in UTC. There is no foreign key, since rows outlive their version, for bills and history. */
const ingressColumns = () => ({
  squidId: bigId().notNull(),
  at: time().notNull(),
  successes: bigId().notNull(),
  errors: bigId().notNull(),
  successBytes: bigId().notNull(),
  errorBytes: bigId().notNull(),
  /** Counts of successful requests by latency bucket (`histogram.ts`). */
  histogram: bigId().array().notNull(),
})

/**
 * Requests to a version, counted by the gateways. Minutes and hours are partitioned by day; longer buckets are rolled
 * up from shorter ones.
 */
export const ingressMinutes = pgTable(
  'ingress_minutes',
  {
    ...ingressColumns(),
    /** How many of `errors` the squid or the gateway caused, for status pages (`isFailure` of the gateway's meter). */
    failures: bigId().notNull().default(0),
  },
  (t) => [
    primaryKey({ name: 'ingress_minutes_pkey', columns: [t.squidId, t.at] }),
    timeRanges('ingress_minutes', t.at),
  ],
)
export const ingressHours = pgTable('ingress_hours', ingressColumns(), (t) => [
  primaryKey({ name: 'ingress_hours_pkey', columns: [t.squidId, t.at] }),
  timeRanges('ingress_hours', t.at),
])
export const ingressDays = pgTable('ingress_days', ingressColumns(), (t) => [
  primaryKey({ name: 'ingress_days_pkey', columns: [t.squidId, t.at] }),
  index('ingress_days_at').on(t.at),
])
export const ingressMonths = pgTable('ingress_months', ingressColumns(), (t) => [
  primaryKey({ name: 'ingress_months_pkey', columns: [t.squidId, t.at] }),
  index('ingress_months_at').on(t.at),
])

/** Usage of a container in one bucket, summed over generations that run at the same time. Null means unknown, not zero. */
const containerColumns = () => ({
  squidId: bigId().notNull(),
  at: time().notNull(),
  /** The database of a version counts as its container `db`. */
  container: text().notNull(),
  /** The number of seconds that the sums of this row cover; 0 for the first sample after a gap. */
  observedSeconds: doublePrecision().notNull(),
  cpuSeconds: doublePrecision(),
  /** The limit in cores, multiplied by seconds. */
  cpuLimitSeconds: doublePrecision(),
  throttledSeconds: doublePrecision(),
  /** Bytes multiplied by seconds; divided by `observedSeconds`, this is the mean. */
  memoryByteSeconds: doublePrecision(),
  memoryPeakBytes: bigId(),
  memoryLimitBytes: bigId(),
  oomKills: bigId().notNull(),
  crashes: bigId().notNull(),
  diskUsedBytes: bigId(),
  diskTotalBytes: bigId(),
  /** Blocks that a processor indexed in this bucket. The columns below contain its last reported values. */
  blocks: bigId(),
  lastBlock: bigId(),
  chainHeight: bigId(),
  syncRatio: doublePrecision(),
  etaSeconds: doublePrecision(),
  blocksPerSecond: doublePrecision(),
  rpcRequests: bigId(),
  rpcFailures: bigId(),
})

/** One row every 15 seconds. Samples, minutes and hours are partitioned by day. */
export const containerSamples = pgTable('container_samples', containerColumns(), (t) => [
  primaryKey({ name: 'container_samples_pkey', columns: [t.squidId, t.at, t.container] }),
  timeRanges('container_samples', t.at),
])
export const containerMinutes = pgTable('container_minutes', containerColumns(), (t) => [
  primaryKey({ name: 'container_minutes_pkey', columns: [t.squidId, t.at, t.container] }),
  timeRanges('container_minutes', t.at),
])
export const containerHours = pgTable('container_hours', containerColumns(), (t) => [
  primaryKey({ name: 'container_hours_pkey', columns: [t.squidId, t.at, t.container] }),
  timeRanges('container_hours', t.at),
])
export const containerDays = pgTable('container_days', containerColumns(), (t) => [
  primaryKey({ name: 'container_days_pkey', columns: [t.squidId, t.at, t.container] }),
  index('container_days_at').on(t.at),
])
export const containerMonths = pgTable('container_months', containerColumns(), (t) => [
  primaryKey({ name: 'container_months_pkey', columns: [t.squidId, t.at, t.container] }),
  index('container_months_at').on(t.at),
])

/** Counters of each container at its last sample. Updated in the transaction that writes the sample, so nothing is counted twice. */
export const sampledCounters = pgTable(
  'sampled_counters',
  {
    squidId: bigId().notNull(),
    generation: integer().notNull(),
    container: text().notNull(),
    at: time().notNull(),
    cpuSeconds: doublePrecision(),
    throttledSeconds: doublePrecision(),
    oomKills: bigId().notNull(),
    crashes: bigId().notNull(),
    lastBlock: bigId(),
    rpcRequests: bigId(),
    rpcFailures: bigId(),
    /** The run that the counters belong to; null in rows of releases that did not record runs. */
    run: text(),
  },
  (t) => [primaryKey({ name: 'sampled_counters_pkey', columns: [t.squidId, t.generation, t.container] })],
)

/** When the containers were last sampled. The counters have no index on their times, because every sample would write to it. */
export const samplerState = pgTable(
  'sampler_state',
  {
    id: integer().primaryKey().default(1),
    sampledAt: time().notNull(),
  },
  (t) => [oneRowCheck('sampler_state', t.id)],
)

/**
 * The time up to which the coarser levels of a family are computed. A gateway that reports counts of an earlier time
 * sets it back.
 */
export const metricRollups = pgTable('metric_rollups', {
  family: text().primaryKey(),
  rolledUntil: time().notNull(),
})
