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
} from 'drizzle-orm/pg-core'
import { orgs } from '../orgs/index.ts'
import { unknownBlockRate, type BlockRate } from './block-rate.ts'

const bigId = () => bigint({ mode: 'number' })
const time = () => timestamp({ withTimezone: true })

/** One per organization; created on first use. */
export const rpcTokens = pgTable(
  'rpc_tokens',
  {
    orgId: bigId()
      .primaryKey()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    /** sha256, by which the gateway finds it. */
    hash: text().notNull(),
    /** The sealed token, for display. */
    sealed: text().notNull(),
    createdAt: time().notNull(),
  },
  (t) => [uniqueIndex('rpc_tokens_hash').on(t.hash)],
)

/** Requests by hour, append-only counters. Receipts and charts are computed from it. */
export const rpcUsage = pgTable(
  'rpc_usage',
  {
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    chain: text().notNull(),
    method: text().notNull(),
    /** The SQUID_ID of the caller; empty for callers that are not squids. */
    version: text().notNull(),
    /** Start of the hour, UTC. */
    hour: time().notNull(),
    /** Answered by a node or the cache, including errors of the node: billed. */
    requests: bigId().notNull(),
    /** Not answered, because no node could: not billed. */
    failures: bigId().notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.hour, t.chain, t.method, t.version] }), index('rpc_usage_hour').on(t.hour)],
)

/** The last state of an upstream as seen by a gateway. Missing or old: no gateway checks it now. */
export const rpcUpstreamStates = pgTable(
  'rpc_upstream_states',
  {
    chain: text().notNull(),
    upstream: text().notNull(),
    isHealthy: boolean().notNull(),
    isArchive: boolean().notNull(),
    headBlock: bigId(),
    finalizedBlock: bigId(),
    latencyP50Ms: integer('latency_p50_ms'),
    latencyP95Ms: integer('latency_p95_ms'),
    reason: text(),
    observedAt: time().notNull(),
  },
  (t) => [primaryKey({ columns: [t.chain, t.upstream] })],
)

/** The height of a chain that squids index, as seen by its nodes; compared with what processors report. */
export const chainHeads = pgTable('chain_heads', {
  chain: text().primaryKey(),
  /** The highest block of any healthy node. */
  headBlock: bigId().notNull(),
  finalBlock: bigId(),
  /** When `headBlock` last rose. */
  movedAt: time().notNull(),
  pace: jsonb().$type<BlockRate>().notNull().default(unknownBlockRate),
  /** When a healthy node was last seen; an old head is ignored. */
  observedAt: time().notNull(),
})
