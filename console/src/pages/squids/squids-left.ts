import { limits, type Org, type SquidSummary } from '@shoal/contract'
import { countOf, formatInteger } from '../../lib/format.ts'

/** The number of versions that the organization can still deploy (spec 2.7). */
export const remainingSquids = ({ limits: { squids } }: Pick<Org, 'limits'>, versions: number): number =>
  Math.max(0, squids - versions)

/** A warning if the organization can deploy fewer than three more versions (spec 2.7); null if it can deploy more. */
export function remainingWarning({ limits: { playground } }: Pick<Org, 'limits'>, remaining: number): string | null {
  if (remaining >= limits.squidsLeftWarning) return null
  const owner = playground ? 'your playground' : 'this organization'
  if (remaining === 0) return `No squids are left in ${owner}. Delete a version to deploy another one.`
  return `Only ${countOf(remaining, 'squid')} ${remaining === 1 ? 'is' : 'are'} left in ${owner}.`
}

/** Returns a summary such as `4 versions of 3 squids · 96 left in this organization`. */
export function summaryOf(
  { limits: { playground } }: Pick<Org, 'limits'>,
  squids: readonly Pick<SquidSummary, 'name'>[],
  remaining: number,
): string {
  const names = new Set(squids.map(({ name }) => name)).size
  const owner = playground ? 'playground' : 'organization'
  return `${countOf(squids.length, 'version')} of ${countOf(names, 'squid')} · ${formatInteger(remaining)} left in this ${owner}`
}

/**
 * Why the deploy button is disabled; null if it is enabled. `deniedReason`: why the user's role does not allow
 * deploying; this disables the button only in playgrounds (spec 2.7).
 */
export function deployDisabledReason(
  { limits: { playground } }: Pick<Org, 'limits'>,
  remaining: number,
  deniedReason: string | null,
) {
  const owner = playground ? 'Your playground' : 'The organization'
  if (remaining === 0) return `${owner} has reached its limit of squids. Delete a version first.`
  return playground ? deniedReason : null
}
