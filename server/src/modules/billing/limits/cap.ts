import type { BillingLimits } from '@shoal/contract'
import { Big } from 'big.js'

export const warnAtPercents = [75, 90, 100] as const

export type CapVersion = {
  id: number
  /** Of the squid, without its slot. */
  name: string
  hasTags: boolean
  /** Of its programs: what hibernating it saves. */
  perHourUsd: Big
}

export type CapState = {
  capUsd: Big
  spentUsd: Big
  /** Kept data has to be paid for until the month ends. */
  committedUsd: Big
  /** That run now. */
  versions: readonly CapVersion[]
  hibernateOrder: BillingLimits['hibernateOrder']
}

/** The others stop when an hour of all that runs is no longer there; the last goes on until the cap is all but reached. */
const horizonHours = new Big(1)
const lastHorizonHours = new Big(2).div(60)

/** The highest warning that is reached; 0 for none. */
export function reachedPercent(spentUsd: Big, capUsd: Big): number {
  return warnAtPercents.findLast((percent) => spentUsd.times(100).gte(capUsd.times(percent))) ?? 0
}

/**
 * Which versions to hibernate now, so that the month ends within its cap: in the order that was asked for, then all others, and
 * those with tags, which somebody's users ask, last of all.
 */
export function toHibernate({ capUsd, spentUsd, committedUsd, versions, hibernateOrder }: CapState): CapVersion[] {
  const left = capUsd.minus(spentUsd).minus(committedUsd)
  const rankOf = (v: CapVersion) => {
    const asked = hibernateOrder.indexOf(v.name)
    return (v.hasTags ? 1_000_000 : 0) + (asked === -1 ? 1_000 : asked)
  }
  const queue = [...versions].sort((a, b) => rankOf(a) - rankOf(b) || a.id - b.id)
  const stopped: CapVersion[] = []
  while (queue.length > 0) {
    const burn = queue.reduce((sum, v) => sum.plus(v.perHourUsd), new Big(0))
    const needed = burn.times(queue.length > 1 ? horizonHours : lastHorizonHours)
    if (left.gt(needed)) break
    const next = queue.shift()
    if (next) stopped.push(next)
  }
  return stopped
}
