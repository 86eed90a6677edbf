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

/** What the runtime last said of each container, and what is counted over all its runs; written when it changes. */
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
    runEnd: text({ enum: runEnds }),
    retryAt: time(),
    reason: text(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.container] }), ...enumChecks('container_states', t)],
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
    how: text({ enum: runEnds }),
    /** Null: not known. */
    oomKills: integer(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.generation, t.container, t.run] }), ...enumChecks('container_runs', t)],
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
    /** For how long it was observed without progress while it had work to do. */
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
