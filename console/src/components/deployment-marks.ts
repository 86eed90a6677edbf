import type { Deployment } from '@shoal/contract'
import { linkOptions } from '@tanstack/react-router'
import { formatDateTime } from '../lib/format.ts'
import type { ChartMark } from './chart/chart-data.ts'
import { deploymentTitle } from './deployment-title.ts'

/** `isVersionNamed` is true if the labels include the version, because the chart shows several. */
type MarkOptions = { isVersionNamed?: boolean }

/** The chart marks of these deployments, each at the start of its deployment. */
export const deploymentMarks = (
  deployments: readonly Deployment[],
  { isVersionNamed = false }: MarkOptions = {},
): ChartMark[] =>
  deployments.map((deployment) => ({
    timeSeconds: Date.parse(deployment.createdAt) / 1000,
    label: labelOf(deployment, isVersionNamed),
    isBad: deployment.failed !== 'NO',
    ...linkOf(deployment),
  }))

/** Deployments of a deleted version have no link, since it has no page. */
const linkOf = ({ id, squid }: Deployment): Pick<ChartMark, 'link'> =>
  squid
    ? {
        link: linkOptions({
          to: '/squids/$squidName/$squidSlot/deployments/$deployId',
          params: { squidName: squid.name, squidSlot: squid.slot, deployId: String(id) },
        }),
      }
    : {}

function labelOf(deployment: Deployment, isVersionNamed: boolean): string {
  const { id, createdAt, failed, user, squid } = deployment
  const version = isVersionNamed && squid ? `${squid.reference} ` : ''
  const outcome = failed === 'NO' ? '' : ', failed'
  const author = user ? `\nby ${user.fullName ?? user.email}` : ''
  return `${formatDateTime(createdAt)} ${version}${deploymentTitle(deployment)} #${id}${outcome}${author}`
}
