import { z } from 'zod'

/** The query language of the Portal for EVM datasets, and of the archives before it (contract 6.6). */

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
const maxRequests = 1_000

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

/** Items as nodes return them, limited to the fields used here. */
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

/** Without a list everything matches; an empty list matches nothing. */
const has = (allowed: string[] | undefined, found: string | undefined): boolean =>
  allowed === undefined || (found !== undefined && allowed.includes(found.toLowerCase()))

/** The narrowest `eth_getLogs` filter that covers the query; null when it requests no logs. */
export function logFilter(query: EvmQuery): { address?: string[]; topics?: string[][] } | null {
  if (query.transactions.some((r) => r.logs) || query.logs.some((r) => r.transactionLogs)) return {}
  if (query.logs.length === 0) return null
  const address = union(query.logs.map((r) => r.address))
  const topic0 = union(query.logs.map((r) => r.topic0))
  return { ...(address ? { address } : {}), ...(topic0 ? { topics: [topic0] } : {}) }
}

const union = (lists: (string[] | undefined)[]): string[] | null =>
  lists.every((list) => list !== undefined) ? [...new Set(lists.flat())] : null
