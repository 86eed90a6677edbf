import type { Deployment, Squid } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { useApiMutation } from '../../../api/mutation.ts'
import { useDeniedReason } from '../../../components/access.tsx'
import { confirm } from '../../../components/confirm.ts'
import { versionChange } from '../../../components/squid/use-squid-actions.tsx'
import { formatDateTime } from '../../../lib/format.ts'
import { shortImage } from './deployment-labels.ts'
import { rollbackDisabledReason } from './rollback-rule.ts'

/** Rolls back to an earlier deployment and opens the new deployment. */
export function useRollback(squid: Squid) {
  const deniedReason = useDeniedReason('squids.write')
  const navigate = useNavigate()
  const { name: squidName, slot: squidSlot } = squid
  const rollback = useApiMutation('squids.rollback', {
    ...versionChange,
    errorDisplay: 'caller',
    onSuccess: ({ id }) =>
      navigate({
        to: '/squids/$squidName/$squidSlot/deployments/$deployId',
        params: { squidName, squidSlot, deployId: String(id) },
      }),
  })
  const run = ({ id }: Pick<Deployment, 'id'>) =>
    rollback.mutateAsync({
      params: { code: squid.organization.code, reference: squid.reference },
      body: { deploymentId: id },
    })
  return {
    disabledReasonFor: (deployment: Deployment): string | null =>
      deniedReason ?? rollbackDisabledReason(squid, deployment),
    run,
    confirm: (deployment: Deployment) =>
      confirm({
        title: `Roll ${squid.reference} back to deployment ${deployment.id}?`,
        body: (
          <>
            <p className="mb-2">
              This runs image <code className="text-ink">{shortImage(deployment.image ?? '')}</code> from{' '}
              {formatDateTime(deployment.createdAt)} again.
            </p>
            <RollbackNote />
          </>
        ),
        confirmLabel: 'Roll back',
        action: () => run(deployment),
      }),
  }
}

export const RollbackNote = () => (
  <p>
    The version keeps its URLs and tags and runs with the current secrets. The database is not changed, so older code
    may not match its tables. The current deployment keeps running until the rollback is complete.
  </p>
)
