import type { Deployment, Squid } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { useApiMutation } from '../../../api/mutation.ts'
import { confirm } from '../../../components/confirm.ts'
import { useWhyNot } from '../../../components/Can.tsx'
import { formatDateTime } from '../../../lib/format.ts'
import { shortImage } from './deployment-words.ts'
import { whyNoRollback } from './rollback-rule.ts'

/** Going back to what an earlier deployment brought about, with the question that comes before it. */
export function useRollback(squid: Squid) {
  const noRights = useWhyNot('squids.write')
  const navigate = useNavigate()
  const { name: squidName, slot: squidSlot } = squid
  const rollback = useApiMutation('squids.rollback', {
    invalidates: ['squids.get', 'squids.list', 'deployments.list'],
    errorsGoTo: 'caller',
    onSuccess: ({ id }) =>
      navigate({
        to: '/squids/$squidName/$squidSlot/deployments/$deployId',
        params: { squidName, squidSlot, deployId: String(id) },
      }),
  })
  return {
    whyNot: (deployment: Deployment): string | null => noRights ?? whyNoRollback(squid, deployment),
    ask: (deployment: Deployment) =>
      confirm({
        title: `Roll ${squid.reference} back to deployment ${deployment.id}?`,
        body: (
          <>
            <p>
              Image <code className="text-ink">{shortImage(deployment.image ?? '')}</code> of{' '}
              {formatDateTime(deployment.createdAt)} runs again, with the present secrets. Addresses and tags stay.
            </p>
            <p className="mt-2">
              The database is kept as it is: code that is older than its tables may not fit them. What runs now goes on
              until the other is up.
            </p>
          </>
        ),
        confirmLabel: 'Roll back',
        action: () =>
          rollback.mutateAsync({
            params: { code: squid.organization.code, reference: squid.reference },
            body: { deploymentId: deployment.id },
          }),
      }),
  }
}
