/** The planned usage of a month: programs by type (`api.small`), GB of database storage, and RPC requests in millions. */
export type Plan = { programs: { type: string; count: number }[]; storageGb: number; rpcMillions: number }

type Prices = {
  rates: readonly { type: string; rateUsd: string }[]
  storageGbMonthUsd: string
  rpcIncludedMillions: string
}

/** The length of a month in monthly prices: 30 days. */
export const hoursPerMonth = 720

/** The estimated cost in dollars per month, before tax and discounts. Floats are accurate enough for an estimate. */
export function monthlyUsd({ rates, storageGbMonthUsd, rpcIncludedMillions }: Prices, plan: Plan): number {
  const rateOf = (type: string) => Number(rates.find((rate) => rate.type === type)?.rateUsd ?? 0)
  const programs = plan.programs.reduce((sum, { type, count }) => sum + rateOf(type) * count * hoursPerMonth, 0)
  const billedMillions = Math.max(0, plan.rpcMillions - Number(rpcIncludedMillions))
  return programs + plan.storageGb * Number(storageGbMonthUsd) + billedMillions * rateOf('rpc')
}
