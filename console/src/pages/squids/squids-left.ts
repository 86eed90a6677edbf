import { limits, type Org, type SquidSummary } from '@shoal/contract'

/** How many versions the organization can still deploy (spec 2.7). */
export const squidsLeft = ({ limits: { squids } }: Pick<Org, 'limits'>, versions: number): number =>
  Math.max(0, squids - versions)

/** The warning below three remaining squids; null without one. */
export function leftWarning({ limits: { playground } }: Pick<Org, 'limits'>, left: number): string | null {
  if (left >= limits.squidsLeftWarning) return null
  const place = playground ? 'your playground' : 'this organization'
  if (left === 0) return `No squids are left in ${place}. Delete a version to deploy another one.`
  return `${left === 1 ? 'Only 1 squid is' : `Only ${left} squids are`} left in ${place}.`
}

export const countOf = (count: number, word: string) =>
  `${count.toLocaleString('en-US')} ${word}${count === 1 ? '' : 's'}`

/** `4 versions of 3 squids · 96 left in this organization` */
export function summaryOf(
  { limits: { playground } }: Pick<Org, 'limits'>,
  squids: readonly Pick<SquidSummary, 'name'>[],
  left: number,
): string {
  const names = new Set(squids.map(({ name }) => name)).size
  const place = playground ? 'playground' : 'organization'
  return `${countOf(squids.length, 'version')} of ${countOf(names, 'squid')} · ${left.toLocaleString('en-US')} left in this ${place}`
}

/** Why a new squid cannot be deployed; null if it can. `deniedReason`: why the role does not allow it. */
export function deployDisabledReason(
  { limits: { playground } }: Pick<Org, 'limits'>,
  left: number,
  deniedReason: string | null,
) {
  if (left === 0) return 'The organization has reached its limit of squids. Delete a version first.'
  return playground ? deniedReason : null
}
