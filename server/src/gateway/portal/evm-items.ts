import {
  doesLogMatch,
  doesTransactionMatch,
  type EvmQuery,
  type RawBlock,
  type RawLog,
  type RawReceipt,
  type RawTransaction,
} from './evm-query.ts'

/** Part of a block in the Portal's format: small numbers as numbers, quantities and bytes as hexadecimal strings. */
export type Item = Record<string, unknown>
/** A block with the selected items; without the lists that are empty. */
export type PortalBlock = { header: Item & { number: number; hash: string }; transactions?: Item[]; logs?: Item[] }

const numericFields = {
  block: new Set(['number', 'timestamp', 'size', 'l1BlockNumber']),
  transaction: new Set([
    'transactionIndex',
    'nonce',
    'chainId',
    'yParity',
    'type',
    'status',
    'l1BlobBaseFeeScalar',
    'l1BaseFeeScalar',
  ]),
  log: new Set(['logIndex', 'transactionIndex']),
}

/** Fields of a transaction that are only in its receipt. */
const receiptFields = [
  'gasUsed',
  'cumulativeGasUsed',
  'effectiveGasPrice',
  'contractAddress',
  'status',
  'l1Fee',
  'l1FeeScalar',
  'l1GasPrice',
  'l1GasUsed',
  'l1BlobBaseFee',
  'l1BlobBaseFeeScalar',
  'l1BaseFeeScalar',
]

/** Whether the query requests fields that are only in receipts. */
export const needsReceipts = (query: EvmQuery): boolean =>
  receiptFields.some((field) => query.fields?.transaction?.[field] === true)

/** Whether the query selects transactions, directly or as those of its logs. */
export const needsTransactions = (query: EvmQuery): boolean =>
  query.transactions.length > 0 || query.logs.some((r) => r.transaction)

/** The items of one block that a query selects, in the order of the block. */
export type SelectedItems = { logs: RawLog[]; transactions: RawTransaction[] }

/** Selects the matching items of a block and the related items requested with them. */
export function selectItems(query: EvmQuery, block: RawBlock, logsOfBlock: readonly RawLog[]): SelectedItems {
  const transactions = block.transactions.filter((tx) => typeof tx !== 'string')
  const [logs, requestedIndexes] = [new Set<RawLog>(), new Set<string>()]
  const addLogsOf = (index: string) => {
    for (const log of logsOfBlock) if (log.transactionIndex === index) logs.add(log)
  }
  for (const log of logsOfBlock)
    for (const request of query.logs) {
      if (!doesLogMatch(request, log)) continue
      logs.add(log)
      if (request.transaction) requestedIndexes.add(log.transactionIndex)
      if (request.transactionLogs) addLogsOf(log.transactionIndex)
    }
  for (const tx of transactions)
    for (const request of query.transactions) {
      if (!doesTransactionMatch(request, tx)) continue
      requestedIndexes.add(tx.transactionIndex)
      if (request.logs) addLogsOf(tx.transactionIndex)
    }
  return {
    logs: [...logs].sort((a, b) => Number(a.logIndex) - Number(b.logIndex)),
    transactions: transactions.filter((tx) => requestedIndexes.has(tx.transactionIndex)),
  }
}

/** Returns a block in the Portal's format, with the requested fields of the selected items. `receipts`: by transaction index. */
export function portalBlock(
  query: EvmQuery,
  block: RawBlock,
  selected: SelectedItems,
  receipts: ReadonlyMap<string, RawReceipt>,
): PortalBlock {
  const header = project(block, ['number', 'hash', 'parentHash'], query.fields?.block, numericFields.block)
  const transactions = selected.transactions.map((tx) =>
    project(
      {
        ...receipts.get(tx.transactionIndex),
        ...tx,
        sighash: tx.input.length >= 10 ? tx.input.slice(0, 10) : undefined,
      },
      ['transactionIndex'],
      query.fields?.transaction,
      numericFields.transaction,
    ),
  )
  const logs = selected.logs.map((log) =>
    project(log, ['logIndex', 'transactionIndex'], query.fields?.log, numericFields.log),
  )
  return {
    header: header as PortalBlock['header'],
    ...(transactions.length > 0 ? { transactions } : {}),
    ...(logs.length > 0 ? { logs } : {}),
  }
}

/** Returns the fields that are always included and the requested ones. Converts the fields in `asNumber` to numbers. */
function project(
  source: Record<string, unknown>,
  alwaysIncluded: readonly string[],
  requested: Record<string, boolean> | undefined,
  asNumber: ReadonlySet<string>,
): Item {
  const names = new Set([...alwaysIncluded, ...Object.keys(requested ?? {}).filter((name) => requested?.[name])])
  const item: Item = {}
  for (const name of names) {
    const value = source[name]
    if (value === undefined) continue
    if (name === 'authorizationList' && Array.isArray(value)) item[name] = value.map(convertAuthorization)
    else item[name] = asNumber.has(name) && typeof value === 'string' ? Number(value) : value
  }
  return item
}

/** Converts the numbers of an authorization (EIP-7702). */
const convertAuthorization = (item: Item): Item => ({
  ...item,
  chainId: Number(item['chainId']),
  nonce: Number(item['nonce']),
  yParity: Number(item['yParity']),
})
