import type { App } from '../../../app.ts'
import { costsOf } from '../costs/costs.ts'
import { readPriceBook } from '../prices/price-book.ts'
import { netOf } from '../receipts/receipt.ts'
import { listAccountsWithCaps, listRpcUse } from './limits-store.ts'

/** An organization's usage of a quota in the current month, in dollars (`spend`) or RPC requests (`rpc`). */
export type QuotaUse = { orgId: number; quota: 'spend' | 'rpc'; used: number; cap: number }

/** Returns a function that reads the usage of all organizations with a cap. Expensive, since it computes the costs of each. */
export function quotaReader(app: App): () => Promise<QuotaUse[]> {
  const book = readPriceBook(app.config)
  return async () => {
    const rpc = await listRpcUse(app.db, app.clock.now())
    const uses: QuotaUse[] = rpc.map((row) => ({ ...row, quota: 'rpc' }))
    for (const { orgId, spendCapUsd } of await listAccountsWithCaps(app.db)) {
      if (spendCapUsd === null) continue
      const { soFar } = await costsOf(app, book, orgId)
      uses.push({ orgId, quota: 'spend', used: netOf(soFar).toNumber(), cap: Number(spendCapUsd) })
    }
    return uses
  }
}
