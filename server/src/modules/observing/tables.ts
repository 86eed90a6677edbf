import { bigId, boolean, doublePrecision, integer, jsonb, pgTable, primaryKey, text, time } from '../../db/columns.ts'
import { unknownBlockRate, type BlockRate } from '../chains/index.ts'
import { enumChecks } from '../../db/checks.ts'
import { squids } from '../versions/index.ts'

/** How a run of a container ended; see `LastRun` of the runtime. */
const runEnds = ['done', 'error', 'oom', 'evicted', 'stopped'] as const
export type RunEnd = (typeof runEnds)[number]

/** The last observed state of each container, and totals over all its runs. Written on changes. */
export const containerStates = pgTable(
  'container_states',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
    container: text().notNull(),
    state: text({ enum: ['starting', 'running', 'finished', 'backoff', 'failed'] }).notNull(),
    /** When the container entered this state. */
    since: time().notNull(),
    /** The number of runs that were started after a crash. */
    restarts: integer().notNull(),
    /** The number of consecutive crashes without a run of ten minutes in between. */
    crashesInARow: integer().notNull().default(0),
    /** The number of out-of-memory kills in runs that have ended. */
    oomKills: integer().notNull(),
    /** Exit code of the last run that ended; null if no run has ended, or the end was not observed. */
    exitCode: integer(),
    /** Whether that run was ended because it used too much memory. */
    isOutOfMemory: boolean().notNull(),
    /** The newest run that the totals include; null if the container has not run. */
    run: text(),
    /** The number of runs before `run`; -1 if the container has not run; null in rows of releases that did not record runs. */
    runOrdinal: integer(),
    /** How `run` ended; null while it lasts. */
    runEnd: text({ enum: runEnds }),
    /** When the runtime will start the program again after a crash. */
    retryAt: time(),
    /** Why the container is in this state, in a sentence for users; null if there is no problem. */
    reason: text(),
    /** Since when the program has had no disk space left for its files; null if it has space, or if this is unknown. */
    diskFullSince: time(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.container] }), ...enumChecks('container_states', t)],
)

/** The newest observed runs of each container. Deleted with the container. */
export const containerRuns = pgTable(
  'container_runs',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
    container: text().notNull(),
    run: text().notNull(),
    /** The number of earlier runs of the container, as counted by the runtime. */
    ordinal: integer().notNull(),
    startedAt: time().notNull(),
    /** Null while the run lasts, or if its end was not observed. */
    endedAt: time(),
    exitCode: integer(),
    how: text({ enum: runEnds }),
    /** The number of out-of-memory kills in the run; null if unknown. */
    oomKills: integer(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.container, t.run] }), ...enumChecks('container_runs', t)],
)

/** The last metrics of each processor. A new generation starts without a row. */
export const processorStates = pgTable(
  'processor_states',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
    processor: text().notNull(),
    currentBlock: bigId().notNull(),
    /** The height of the chain, as the processor's metrics report it. */
    totalBlocks: bigId().notNull(),
    blocksPerSecond: doublePrecision(),
    etaSeconds: doublePrecision(),
    /** The share of the blocks that are processed, from 0 to 1. */
    syncRatio: doublePrecision(),
    /** The number of requests to the RPC node since the program started. */
    rpcRequests: bigId(),
    /** The number of those requests that failed. */
    rpcFailures: bigId(),
    /** When `currentBlock` last changed. */
    progressedAt: time(),
    /** When `totalBlocks` last changed. */
    headMovedAt: time(),
    /** The usual rate at which `totalBlocks` grows. */
    headRate: jsonb().$type<BlockRate>().notNull().default(unknownBlockRate),
    /** The chain that the processor indexes, if its environment names exactly one chain of the RPC gateway. */
    chain: text(),
    /** When the processor's own metrics last reported that it had caught up; null if they never did. */
    caughtUpAt: time(),
    /** How long the processor was observed without progress although it had work to do. */
    stalledMs: bigId().notNull().default(0),
    /** Whether the processor was observed at the independent head of the chain; otherwise the processor may be waiting for final blocks. */
    followsHead: boolean().notNull().default(false),
    /** When the processor's RPC node last responded, accurate to ten seconds; null if its metrics do not count requests. */
    answeredAt: time(),
    /** The usual interval between responses of the processor's node: each response counts as a move of one block. */
    responseRate: jsonb().$type<BlockRate>().notNull().default(unknownBlockRate),
    /** When the processor last responded, accurate to half a minute. */
    scrapedAt: time().notNull(),
    /** Since when the processor has not responded although its program is running. */
    unansweredSince: time(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.processor] })],
)

/** The data sources that do not respond, by processor. Other processors have no row. */
export const processorSources = pgTable(
  'processor_sources',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
    processor: text().notNull(),
    /** A sentence for users that names the source if it is known. Contains no keys. */
    sentence: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.processor] })],
)

/** The last probe result of each api replica. */
export const apiStates = pgTable(
  'api_states',
  {
    squidId: bigId()
      .notNull()
      .references(() => squids.id, { onDelete: 'cascade' }),
    generation: integer().notNull(),
    container: text().notNull(),
    isAvailable: boolean().notNull(),
    /** When the replica became available or unavailable. */
    since: time().notNull(),
    /** Why the replica is not available, in a sentence for users; null if it is available. */
    reason: text(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.container] })],
)
