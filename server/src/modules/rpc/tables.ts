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

/** One a organization; made when it is first asked for. */
export const rpcTokens = pgTable(
  'rpc_tokens',
  {
    orgId: bigId()
      .primaryKey()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    /** sha256: how the gateway finds it. */
    hash: text().notNull(),
    /** How people see it again. */
    sealed: text().notNull(),
    createdAt: time().notNull(),
  },
  (t) => [uniqueIndex('rpc_tokens_hash').on(t.hash)],
)

/** What was asked, by the hour; only ever added to. Receipts and charts are made of it. */
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
    /** Its beginning, UTC. */
    hour: time().notNull(),
    /** Answered by a node or from the cache, an error of the node included: what is billed. */
    requests: bigId().notNull(),
    /** Not answered, since no node could: not billed. */
    failures: bigId().notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.hour, t.chain, t.method, t.version] }), index('rpc_usage_hour').on(t.hour)],
)

/** What a gateway last saw of an upstream. Gone or old: no gateway looks at it now. */
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

/** The height of a chain that squids index, as its nodes show it: what processors say of themselves is held against it. */
export const chainHeads = pgTable('chain_heads', {
  chain: text().primaryKey(),
  /** The highest block any healthy node has shown. */
  headBlock: bigId().notNull(),
  finalBlock: bigId(),
  /** When `headBlock` last rose. */
  movedAt: time().notNull(),
  pace: jsonb().$type<BlockRate>().notNull().default(unknownBlockRate),
  /** When a healthy node was last seen; an old head is no head. */
  observedAt: time().notNull(),
})
