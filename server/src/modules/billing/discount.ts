import { Big } from 'big.js'
import type { App } from '../../app.ts'
import { changeAccount } from './payments/payment-store.ts'

/**
 * The share of everything an organization uses that it need not pay; holds for the running month and those after it.
 * @throws Error for what is no percentage with at most two fraction digits
 */
export async function setDiscount(app: Pick<App, 'db'>, orgId: number, percent: string): Promise<string> {
  if (!/^\d{1,3}(\.\d{1,2})?$/.test(percent) || new Big(percent).gt(100))
    throw new Error('--percent must be a number from 0 to 100, as in 15 or 12.5')
  await changeAccount(app.db, orgId, { discountPercent: percent })
  return new Big(percent).toFixed()
}
