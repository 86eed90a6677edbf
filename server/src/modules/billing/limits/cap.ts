import type { BillingLimits } from '@shoal/contract'
import { Big } from 'big.js'

/** The shares of the cap at which a warning is sent. */
export const warnAtPercents = [75, 90, 100] as const

/** A running version whose hibernation would save money. */
export type CapVersion = {
  id: number
  /** Name of the squid, without its slot. */
  name: string
  hasTags: boolean
  /** Cost of the version's programs per hour, which hibernation saves. */
  perHourUsd: Big
}

/** What determines which versions are hibernated. */
export type CapState = {
  capUsd: Big
  spentUsd: Big
  /** Future costs of stored data until the end of the month. */
  committedUsd: Big
  /** The running versions. */
  versions: readonly CapVersion[]
  hibernateOrder: BillingLimits['hibernateOrder']
}

/**
 * A version is hibernated when the remaining budget covers at most one hour of all running versions. If only one version is running, it
 * is hibernated when the budget covers at most two minutes.
 */
const horizonHours = new Big(1)
const lastHorizonHours = new Big(2).div(60)

/** Returns the highest warning threshold that has been reached, in percent; 0 for none. */
export function reachedPercent(spentUsd: Big, capUsd: Big): number {
  return warnAtPercents.findLast((percent) => spentUsd.times(100).gte(capUsd.times(percent))) ?? 0
}

/**
 * Returns the versions to hibernate now so that the month stays within its cap: first those in the configured order, then the others.
 * Versions with tags come last, because their addresses are in use.
 */
export function versionsToHibernate({
  capUsd,
  spentUsd,
  committedUsd,
  versions,
  hibernateOrder,
}: CapState): CapVersion[] {
  const remainingUsd = capUsd.minus(spentUsd).minus(committedUsd)
  // Versions outside of the configured order follow those in it; versions with tags follow all others.
  const rankOf = (v: CapVersion) => {
    const position = hibernateOrder.indexOf(v.name)
    return (v.hasTags ? 1_000_000 : 0) + (position === -1 ? 1_000 : position)
  }
  const queue = [...versions].sort((a, b) => rankOf(a) - rankOf(b) || a.id - b.id)
  const selected: CapVersion[] = []
  while (queue.length > 0) {
    const perHourUsd = queue.reduce((sum, v) => sum.plus(v.perHourUsd), new Big(0))
    const neededUsd = perHourUsd.times(queue.length > 1 ? horizonHours : lastHorizonHours)
    if (remainingUsd.gt(neededUsd)) break
    const next = queue.shift()
    if (next) selected.push(next)
  }
  return selected
}
