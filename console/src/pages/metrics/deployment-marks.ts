import type { Deployment } from '@shoal/contract'
import { linkOptions } from '@tanstack/react-router'
import type { ChartMark } from '../../components/chart/chart-data.ts'
import { deploymentTitle } from '../../components/deployment-title.ts'
import { formatDateTime } from '../../lib/format.ts'

type Version = { name: string; slot: string }

/** Where each deployment began. */
export const deploymentMarks = (deployments: readonly Deployment[], { name, slot }: Version): ChartMark[] =>
  deployments.map((deployment) => ({
    timeSeconds: Date.parse(deployment.createdAt) / 1000,
    label: labelOf(deployment),
    isBad: deployment.failed !== 'NO',
    link: linkOptions({
      to: '/squids/$squidName/$squidSlot/deployments/$deployId',
      params: { squidName: name, squidSlot: slot, deployId: String(deployment.id) },
    }),
  }))

function labelOf(deployment: Deployment): string {
  const { id, createdAt, failed, user } = deployment
  const end = failed === 'NO' ? '' : ', failed'
  const by = user ? `\nby ${user.fullName ?? user.email}` : ''
  return `${formatDateTime(createdAt)} ${deploymentTitle(deployment)} #${id}${end}${by}`
}
