import type { CostEstimate } from '@shoal/contract'
import { Big } from 'big.js'
import { invalidField } from '../../../errors.ts'
import { planRefusal } from '../../deployments/index.ts'
import { billedProfile, InvalidManifest, parseManifest, parsePlan, type SquidPlan } from '../../manifest/index.ts'
import { listAt, priceOf, type PriceBook } from '../prices/price-book.ts'
import { costOf, sum } from '../receipts/rate.ts'
import { msPerHour } from '../time.ts'

const hoursPerMonth = 720
const bytesOfGb = 2 ** 30

/** The payer: playgrounds are free, and some organizations have a discount. */
export type Payer = { isPlayground: boolean; discountPercent: Big }

/**
 * The costs of a squid with this manifest while it runs, without RPC requests.
 * @throws Refusal 400 when the manifest is not valid, or could not be deployed
 */
export function estimateOf(book: PriceBook, manifest: string, now: Date, payer: Payer): CostEstimate {
  const list = listAt(book, now.getTime())
  const plan = offeredPlan(manifest, payer)
  const items = payer.isPlayground ? [] : billables(plan)
  const priced = items.map(({ type, count, size }) => {
    const hourly = costOf(BigInt(size) * BigInt(count) * BigInt(msPerHour), priceOf(list, type))
    const displayCount = type === 'storage' ? new Big(size).div(bytesOfGb).round(8) : new Big(count)
    return { type, count: displayCount.toFixed(), hourly }
  })
  const payableShare = new Big(100).minus(payer.discountPercent).div(100)
  return {
    items: priced.map(({ hourly, ...item }) => ({ ...item, ...both(hourly) })),
    discountPercent: payer.discountPercent.toFixed(),
    ...both(sum(priced.map((item) => item.hourly)).times(payableShare)),
    hoursPerMonth,
  }
}

const both = (hourly: Big) => ({
  perHourUsd: hourly.round(8).toFixed(),
  perMonthUsd: hourly.times(hoursPerMonth).round(2).toFixed(2),
})

function offeredPlan(manifest: string, payer: Payer): SquidPlan {
  const plan = readPlan(manifest)
  const reason = planRefusal(plan, payer)
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

function billables(plan: SquidPlan): { type: string; count: number; size: number }[] {
  const billed: { type: string; count: number; size: number }[] = []
  if (!plan.isDedicated) {
    if (plan.api || plan.processors.length > 0) billed.push({ type: 'collocated', count: 1, size: 1 })
  } else {
    const profileOf = (profile: Parameters<typeof billedProfile>[0]) => billedProfile(profile, true)
    if (plan.api) billed.push({ type: `api.${profileOf(plan.api.profile)}`, count: plan.api.replicas, size: 1 })
    if (plan.processors.length > 0)
      billed.push({ type: `processor.${profileOf(plan.processorProfile)}`, count: plan.processors.length, size: 1 })
    if (plan.postgres) billed.push({ type: `postgres.${profileOf(plan.postgres.profile)}`, count: 1, size: 1 })
  }
  if (plan.postgres) billed.push({ type: 'storage', count: 1, size: plan.postgres.totalBytes })
  return billed
}
