import type { BillingLimits } from '@shoal/contract'
import { Big } from 'big.js'

export const warnAtPercents = [75, 90, 100] as const

export type CapVersion = {
  id: number
  /** Name of the squid, without its slot. */
  name: string
  hasTags: boolean
  /** Costs of its programs, which hibernation saves. */
  perHourUsd: Big
}

export type CapState = {
  capUsd: Big
  spentUsd: Big
  /** Costs of stored data until the end of the month. */
  committedUsd: Big
  /** The running versions. */
  versions: readonly CapVersion[]
  hibernateOrder: BillingLimits['hibernateOrder']
}

/** Versions stop when less than an hour of the current costs is left; the last one runs until the cap is almost reached. */
const horizonHours = new Big(1)
const lastHorizonHours = new Big(2).div(60)

/** The highest warning threshold that is reached; 0 for none. */
export function reachedPercent(spentUsd: Big, capUsd: Big): number {
  return warnAtPercents.findLast((percent) => spentUsd.times(100).gte(capUsd.times(percent))) ?? 0
}

/**
 * The versions to hibernate now, so that the month ends within its cap: in the configured order, then the others, and those with
 * tags, whose addresses are in use, last.
 */
export function toHibernate({ capUsd, spentUsd, committedUsd, versions, hibernateOrder }: CapState): CapVersion[] {
  const left = capUsd.minus(spentUsd).minus(committedUsd)
  const rankOf = (v: CapVersion) => {
    const position = hibernateOrder.indexOf(v.name)
    return (v.hasTags ? 1_000_000 : 0) + (position === -1 ? 1_000 : position)
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
