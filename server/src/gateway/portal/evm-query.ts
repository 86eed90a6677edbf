import { z } from 'zod'

/** What a squid asks of an EVM dataset: the query language of the Portal, and of the archives before it (contract 6.6). */

const hexes = z.array(z.string().transform((v) => v.toLowerCase())).optional()
const yes = z.boolean().optional()
const fields = z.record(z.string(), z.boolean()).optional()

const LogRequest = z.object({
  address: hexes,
  topic0: hexes,
  topic1: hexes,
  topic2: hexes,
  topic3: hexes,
  transaction: yes,
  transactionLogs: yes,
  transactionTraces: yes,
  transactionStateDiffs: yes,
})
export type LogRequest = z.output<typeof LogRequest>

const TransactionRequest = z.object({
  to: hexes,
  from: hexes,
  sighash: hexes,
  type: z.array(z.number()).optional(),
  logs: yes,
  traces: yes,
  stateDiffs: yes,
})
export type TransactionRequest = z.output<typeof TransactionRequest>

const height = z.number().int().nonnegative()
const most = 1_000

export const EvmQuery = z
  .object({
    type: z.literal('evm', 'This dataset is of type "evm".').optional(),
    fromBlock: height,
    toBlock: height.nullish(),
    parentBlockHash: z.string().nullish(),
    includeAllBlocks: yes,
    fields: z.object({ block: fields, transaction: fields, log: fields }).optional(),
    logs: z.array(LogRequest).max(most).default([]),
    transactions: z.array(TransactionRequest).max(most).default([]),
    traces: z.array(z.unknown()).max(0, 'This dataset has no traces.').optional(),
    stateDiffs: z.array(z.unknown()).max(0, 'This dataset has no state diffs.').optional(),
  })
  .refine((q) => typeof q.toBlock !== 'number' || q.toBlock >= q.fromBlock, 'toBlock is below fromBlock.')
  .refine(
    (q) =>
      !q.logs.some((r) => r.transactionTraces || r.transactionStateDiffs) &&
      !q.transactions.some((r) => r.traces || r.stateDiffs),
    'This dataset has neither traces nor state diffs.',
  )
export type EvmQuery = z.output<typeof EvmQuery>

/** As nodes answer them; only what is looked at here is named. */
export type RawLog = {
  address: string
  topics: string[]
  blockHash: string
  blockNumber: string
  transactionIndex: string
  logIndex: string
}
export type RawTransaction = {
  from: string
  to: string | null
  input: string
  type?: string
  transactionIndex: string
  hash: string
}
export type RawBlock = { number: string; hash: string; parentHash: string; transactions: (RawTransaction | string)[] }
export type RawReceipt = { transactionIndex: string }

export const doesLogMatch = (request: LogRequest, log: RawLog): boolean =>
  has(request.address, log.address) &&
  has(request.topic0, log.topics[0]) &&
  has(request.topic1, log.topics[1]) &&
  has(request.topic2, log.topics[2]) &&
  has(request.topic3, log.topics[3])

export const doesTransactionMatch = (request: TransactionRequest, tx: RawTransaction): boolean =>
  has(request.to, tx.to ?? undefined) &&
  has(request.from, tx.from) &&
  has(request.sighash, tx.input.length >= 10 ? tx.input.slice(0, 10) : undefined) &&
  (request.type === undefined || request.type.includes(Number(tx.type ?? 0)))

/** No list asks for anything, an empty one for nothing. */
const has = (wanted: string[] | undefined, found: string | undefined): boolean =>
  wanted === undefined || (found !== undefined && wanted.includes(found.toLowerCase()))

/** The narrowest `eth_getLogs` that finds all that is asked for; null when no logs are. */
export function logFilter(query: EvmQuery): { address?: string[]; topics?: string[][] } | null {
  if (query.transactions.some((r) => r.logs) || query.logs.some((r) => r.transactionLogs)) return {}
  if (query.logs.length === 0) return null
  const address = union(query.logs.map((r) => r.address))
  const topic0 = union(query.logs.map((r) => r.topic0))
  return { ...(address ? { address } : {}), ...(topic0 ? { topics: [topic0] } : {}) }
}

const union = (lists: (string[] | undefined)[]): string[] | null =>
  lists.every((list) => list !== undefined) ? [...new Set(lists.flat())] : null
