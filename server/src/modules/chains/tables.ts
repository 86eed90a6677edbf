import { bigId, boolean, integer, jsonb, pgTable, primaryKey, text, time } from '../../db/columns.ts'
import { unknownBlockRate, type BlockRate } from './block-rate.ts'

/** The last state that a gateway observed of each upstream. A missing or old row means that no gateway checks the upstream. */
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

/** The heads of chains that squids index, as nodes report them, for comparison with the blocks that processors report. */
export const chainHeads = pgTable('chain_heads', {
  chain: text().primaryKey(),
  /** The highest block of any healthy node. */
  headBlock: bigId().notNull(),
  finalBlock: bigId(),
  /** When `headBlock` last rose. */
  movedAt: time().notNull(),
  blockRate: jsonb().$type<BlockRate>().notNull().default(unknownBlockRate),
  /** When a healthy node last reported a head; old heads are ignored. */
  observedAt: time().notNull(),
})
