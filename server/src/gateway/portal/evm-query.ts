import { z } from 'zod'

// The query language of EVM datasets. Queries of the Portal and of the older protocol of SQD's archives (`setGateway` of the SDK) both
// use it.

const hexList = z.array(z.string().transform((v) => v.toLowerCase())).optional()
const flag = z.boolean().optional()
const fields = z.record(z.string(), z.boolean()).optional()

const LogRequest = z.object({
  address: hexList,
  topic0: hexList,
  topic1: hexList,
  topic2: hexList,
  topic3: hexList,
  transaction: flag,
  transactionLogs: flag,
  transactionTraces: flag,
  transactionStateDiffs: flag,
})
export type LogRequest = z.output<typeof LogRequest>

const TransactionRequest = z.object({
  to: hexList,
  from: hexList,
  sighash: hexList,
  type: z.array(z.number()).optional(),
  logs: flag,
  traces: flag,
  stateDiffs: flag,
})
export type TransactionRequest = z.output<typeof TransactionRequest>

const height = z.number().int().nonnegative()
/** Maximum number of log requests, and of transaction requests, in one query. */
const maxRequests = 1_000

/** The body of a request for blocks: the range, the requested items, and the fields of each kind of item. */
export const EvmQuery = z
  .object({
    type: z.literal('evm', 'This dataset is of type "evm".').optional(),
    fromBlock: height,
    toBlock: height.nullish(),
    parentBlockHash: z.string().nullish(),
    includeAllBlocks: flag,
    fields: z.object({ block: fields, transaction: fields, log: fields }).optional(),
    logs: z.array(LogRequest).max(maxRequests).default([]),
    transactions: z.array(TransactionRequest).max(maxRequests).default([]),
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

/** A log as nodes return it. This type and the next ones have only the fields used here. */
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

/** Whether a log matches one request of a query. */
export const doesLogMatch = (request: LogRequest, log: RawLog): boolean =>
  isAllowed(request.address, log.address) &&
  isAllowed(request.topic0, log.topics[0]) &&
  isAllowed(request.topic1, log.topics[1]) &&
  isAllowed(request.topic2, log.topics[2]) &&
  isAllowed(request.topic3, log.topics[3])

/** Whether a transaction matches one request of a query. */
export const doesTransactionMatch = (request: TransactionRequest, tx: RawTransaction): boolean =>
  isAllowed(request.to, tx.to ?? undefined) &&
  isAllowed(request.from, tx.from) &&
  isAllowed(request.sighash, tx.input.length >= 10 ? tx.input.slice(0, 10) : undefined) &&
  (request.type === undefined || request.type.includes(Number(tx.type ?? 0)))

/** Whether a value is in the list. Without a list every value matches; an empty list matches nothing. */
const isAllowed = (allowed: string[] | undefined, value: string | undefined): boolean =>
  allowed === undefined || (value !== undefined && allowed.includes(value.toLowerCase()))

/**
 * Returns an `eth_getLogs` filter that covers the query, by address and first topic only; null when the query requests no logs. The
 * filter is empty, for all logs, when the query requests the logs of its transactions, which can have any address.
 */
export function logFilter(query: EvmQuery): { address?: string[]; topics?: string[][] } | null {
  if (query.transactions.some((r) => r.logs) || query.logs.some((r) => r.transactionLogs)) return {}
  if (query.logs.length === 0) return null
  const address = union(query.logs.map((r) => r.address))
  const topic0 = union(query.logs.map((r) => r.topic0))
  return { ...(address ? { address } : {}), ...(topic0 ? { topics: [topic0] } : {}) }
}

const union = (lists: (string[] | undefined)[]): string[] | null =>
  lists.every((list) => list !== undefined) ? [...new Set(lists.flat())] : null
