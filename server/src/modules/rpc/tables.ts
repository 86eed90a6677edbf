import { bigId, index, pgTable, primaryKey, text, time, uniqueIndex } from '../../db/columns.ts'
import { orgs } from '../orgs/index.ts'

/** RPC tokens, one per organization; created on first use. */
export const rpcTokens = pgTable(
  'rpc_tokens',
  {
    orgId: bigId()
      .primaryKey()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    /** SHA-256 of the token, by which the gateway finds it. */
    hash: text().notNull(),
    /** The sealed token, for display. */
    sealed: text().notNull(),
    createdAt: time().notNull(),
  },
  (t) => [uniqueIndex('rpc_tokens_hash').on(t.hash)],
)

/** Counters of requests by hour. Receipts and charts are computed from them. */
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
    /** Requests that a node or the cache responded to, including with an error of the node; billed. */
    requests: bigId().notNull(),
    /** Requests that no node could serve; not billed. */
    failures: bigId().notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.hour, t.chain, t.method, t.version] }), index('rpc_usage_hour').on(t.hour)],
)
