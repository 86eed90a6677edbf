import type { Deployment, Squid } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { useApiMutation } from '../../../api/mutation.ts'
import { useWhyNot } from '../../../components/Can.tsx'
import { confirm } from '../../../components/confirm.ts'
import { changedByActions } from '../../../components/squid/use-squid-actions.tsx'
import { formatDateTime } from '../../../lib/format.ts'
import { shortImage } from './deployment-words.ts'
import { RollbackNote } from './RollbackNote.tsx'
import { whyNoRollback } from './rollback-rule.ts'

/** Going back to what an earlier deployment brought about. Shows the new deployment once it has begun. */
export function useRollback(squid: Squid) {
  const noRights = useWhyNot('squids.write')
  const navigate = useNavigate()
  const { name: squidName, slot: squidSlot } = squid
  const rollback = useApiMutation('squids.rollback', {
    invalidates: changedByActions,
    errorsGoTo: 'caller',
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
    whyNot: (deployment: Deployment): string | null => noRights ?? whyNoRollback(squid, deployment),
    run,
    ask: (deployment: Deployment) =>
      confirm({
        title: `Roll ${squid.reference} back to deployment ${deployment.id}?`,
        body: (
          <>
            <p className="mb-2">
              Image <code className="text-ink">{shortImage(deployment.image ?? '')}</code> of{' '}
              {formatDateTime(deployment.createdAt)} runs again.
            </p>
            <RollbackNote />
          </>
        ),
        confirmLabel: 'Roll back',
        action: () => run(deployment),
      }),
  }
}
