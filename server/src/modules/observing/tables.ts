import {
  bigint,
  boolean,
  doublePrecision,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from 'drizzle-orm/pg-core'
import { unknownBlockRate, type BlockRate } from '../rpc/index.ts'
import { enumChecks } from '../../db/checks.ts'
import { squids } from '../versions/index.ts'

const bigId = () => bigint({ mode: 'number' })
const time = () => timestamp({ withTimezone: true })

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
    since: time().notNull(),
    /** Runs that began after a crash. */
    restarts: integer().notNull(),
    /** Crashes without a run of ten minutes in between. */
    crashesInARow: integer().notNull().default(0),
    /** Kills in runs that have ended. */
    oomKills: integer().notNull(),
    /** Exit code of the last run that ended; null: none has, or its end was not observed. */
    exitCode: integer(),
    isOutOfMemory: boolean().notNull(),
    /** The newest run that the totals include; null: it has not run. */
    run: text(),
    /** -1: it has not run; null in rows of releases without runs. */
    runOrdinal: integer(),
    /** Null while it runs. */
    runEnd: text({ enum: runEnds }),
    retryAt: time(),
    reason: text(),
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
    /** Runs before it in the same container, as the runtime counts them. */
    ordinal: integer().notNull(),
    startedAt: time().notNull(),
    /** Null while it runs, or if its end was not observed. */
    endedAt: time(),
    exitCode: integer(),
    how: text({ enum: runEnds }),
    /** Null if unknown. */
    oomKills: integer(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.container, t.run] }), ...enumChecks('container_runs', t)],
)

/** The last metrics of each processor (contract 7). A new generation starts without a row. */
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
    /** The usual rate at which `totalBlocks` grows. */
    headPace: jsonb().$type<BlockRate>().notNull().default(unknownBlockRate),
    /** The chain that it indexes, if its environment names exactly one chain of the RPC gateway. */
    chain: text(),
    /** When its own metrics last reported that it had caught up; null: never. */
    caughtUpAt: time(),
    /** How long it was observed without progress although it had work to do. */
    stillMs: bigId().notNull().default(0),
    /** It was observed at the independent head of the chain; otherwise it may be waiting for final blocks. */
    followsHead: boolean().notNull().default(false),
    /** When its RPC node last responded, to within ten seconds; null if its metrics do not count requests. */
    answeredAt: time(),
    /** The usual interval between responses of its node. */
    answerPace: jsonb().$type<BlockRate>().notNull().default(unknownBlockRate),
    /** When it last responded, to within half a minute. */
    scrapedAt: time().notNull(),
    /** Since when it has not responded although its program runs. */
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
    /** A sentence that names the source if it is known, without keys. */
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
    since: time().notNull(),
    reason: text(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.container] })],
)
