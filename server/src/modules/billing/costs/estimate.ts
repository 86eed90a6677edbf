import type { CostEstimate } from '@shoal/contract'
import { Big } from 'big.js'
import { invalidField } from '../../../errors.ts'
import { planRefusal } from '../../deployments/index.ts'
import { billedProfile, InvalidManifest, parseManifest, parsePlan, type SquidPlan } from '../../manifest/index.ts'
import { bytesPerGb, hoursPerMonth, listAt, priceOf, type PriceBook } from '../prices/price-book.ts'
import { costOf, sum } from '../receipts/rate.ts'
import { msPerHour } from '../time.ts'

type OfferedAddons = Parameters<typeof planRefusal>[2]

/** The organization for which costs are estimated: playgrounds are free, and some organizations have a discount. */
export type Payer = { isPlayground: boolean; discountPercent: Big }

/**
 * Estimates the costs of a running squid with this manifest, excluding RPC requests.
 * @throws Refusal 400 when the manifest is not valid, or could not be deployed
 */
export function estimateOf(
  book: PriceBook,
  manifest: string,
  payer: Payer,
  { now, config }: { now: Date; config: OfferedAddons },
): CostEstimate {
  const list = listAt(book, now.getTime())
  const plan = deployablePlan(manifest, payer, config)
  const items = payer.isPlayground ? [] : billedResources(plan)
  const pricedItems = items.map(({ type, count, size }) => {
    const hourly = costOf(BigInt(size) * BigInt(count) * BigInt(msPerHour), priceOf(list, type))
    const displayCount = type === 'storage' ? new Big(size).div(bytesPerGb).round(8) : new Big(count)
    return { type, count: displayCount.toFixed(), hourly }
  })
  const payableShare = new Big(100).minus(payer.discountPercent).div(100)
  return {
    items: pricedItems.map(({ hourly, ...item }) => ({ ...item, ...hourlyAndMonthly(hourly) })),
    discountPercent: payer.discountPercent.toFixed(),
    ...hourlyAndMonthly(sum(pricedItems.map((item) => item.hourly)).times(payableShare)),
    hoursPerMonth,
  }
}

const hourlyAndMonthly = (hourly: Big) => ({
  perHourUsd: hourly.round(8).toFixed(),
  perMonthUsd: hourly.times(hoursPerMonth).round(2).toFixed(2),
})

function deployablePlan(manifest: string, payer: Payer, config: OfferedAddons): SquidPlan {
  const plan = readPlan(manifest)
  const reason = planRefusal(plan, payer, config)
  if (reason) throw invalidField('manifest', reason)
  return plan
}

function readPlan(manifest: string): SquidPlan {
  try {
    return parsePlan(parseManifest(manifest))
  } catch (error) {
    if (error instanceof InvalidManifest) throw invalidField('manifest', error.message)
    throw error
  }
}

function billedResources(plan: SquidPlan): { type: string; count: number; size: number }[] {
  const resources: { type: string; count: number; size: number }[] = []
  if (!plan.isDedicated) {
    if (plan.api || plan.hasura || plan.processors.length > 0) resources.push({ type: 'collocated', count: 1, size: 1 })
  } else {
    const profileOf = (profile: Parameters<typeof billedProfile>[0]) => billedProfile(profile, true)
    if (plan.api) resources.push({ type: `api.${profileOf(plan.api.profile)}`, count: plan.api.replicas, size: 1 })
    if (plan.processors.length > 0)
      resources.push({ type: `processor.${profileOf(plan.processorProfile)}`, count: plan.processors.length, size: 1 })
    if (plan.hasura)
      resources.push({ type: `hasura.${profileOf(plan.hasura.profile)}`, count: plan.hasura.replicas, size: 1 })
    if (plan.postgres) resources.push({ type: `postgres.${profileOf(plan.postgres.profile)}`, count: 1, size: 1 })
  }
  if (plan.postgres) resources.push({ type: 'storage', count: 1, size: plan.postgres.totalBytes })
  return resources
}
