import type { SquidSummary } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { CircleAlert } from 'lucide-react'
import { cx } from '../../ui/classes.ts'
import { failedDeployOf, failedDeployText } from './failed-deploy.ts'

type Props = { squid: SquidSummary; isIcon?: boolean; className?: string }

/**
 * A link to the last deployment of a version if it failed: the version's status does not show the failure, because it describes the code
 * that still runs.
 */
export function FailedDeployMark({ squid, isIcon = false, className }: Props) {
  const failedDeploy = failedDeployOf(squid)
  if (failedDeploy === null) return null
  const text = failedDeployText(failedDeploy)
  return (
    <Link
      to="/squids/$squidName/$squidSlot/deployments/$deployId"
      params={{ squidName: squid.name, squidSlot: squid.slot, deployId: String(failedDeploy.id) }}
      className={cx('inline-flex items-center gap-1.5 whitespace-nowrap text-bad hover:underline', className)}
      {...(isIcon && { 'aria-label': text, 'data-tip': `${text}. Open its log.` })}
    >
      <CircleAlert size={14} aria-hidden className="shrink-0" />
      {!isIcon && text}
    </Link>
  )
}
