import { reasonDenied, squidActionChecks, type SquidSummary } from '@shoal/contract'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { callApi } from '../../api/query.ts'
import { versionChange, versionQuery } from '../../api/version.ts'
import { toast } from '../../lib/toasts.ts'
import { actionOn, actionsOn, useMembership } from '../actions.ts'
import { versionActions } from './version-actions.tsx'

/** Returns a function that rolls a version back to the image of a deployment, and opens the page of the new deployment. */
export function useRollback() {
  const navigate = useNavigate()
  const { code } = useOrg()
  const rollback = useApiMutation('squids.rollback', {
    ...versionChange,
    errorDisplay: 'caller',
    onSuccess: ({ id, squid }) =>
      squid
        ? navigate({
            to: '/squids/$squidName/$squidSlot/deployments/$deployId',
            params: { squidName: squid.name, squidSlot: squid.slot, deployId: String(id) },
          })
        : undefined,
  })
  return (reference: string, deploymentId: number) =>
    rollback.mutateAsync({ params: { code, reference }, body: { deploymentId } })
}

/** The number of newest deployments among which `redeploy` looks for one with the current image. */
const searchedCount = 100

/** The actions on versions of the active organization, bound to the current user. */
export function useVersionActions() {
  const { code } = useOrg()
  const client = useQueryClient()
  const navigate = useNavigate()
  const membership = useMembership()
  const rollback = useRollback()
  const restart = useApiMutation('squids.restart', versionChange)
  const hibernate = useApiMutation('squids.hibernate', { ...versionChange, errorDisplay: 'caller' })
  const remove = useApiMutation('squids.delete', { ...versionChange, errorDisplay: 'caller' })
  const callOf = ({ reference }: SquidSummary) => ({ params: { code, reference } })

  const redeploy = async ({ id, reference }: SquidSummary) => {
    const { image } = await client.fetchQuery(versionQuery({ code, reference }))
    const query = { squidId: String(id), logs: 'false', limit: String(searchedCount) } as const
    const deployments = await callApi('deployments.list', { params: { code }, query })
    const source = deployments.find((deployment) => image !== null && deployment.image === image)
    if (source) await rollback(reference, source.id)
    else
      toast({
        tone: 'warn',
        title: `No recent deployment has the current image of ${reference}`,
        message: 'Restart the version, or run sqd deploy.',
      })
  }
  const context = {
    membership,
    redeploy,
    openSchema: ({ name: squidName, slot: squidSlot }: SquidSummary) =>
      void navigate({ to: '/squids/$squidName/$squidSlot/schema', params: { squidName, squidSlot } }),
    restart: (squid: SquidSummary) => restart.mutate(callOf(squid)),
    hibernate: (squid: SquidSummary) => hibernate.mutateAsync(callOf(squid)),
    remove: (squid: SquidSummary) => remove.mutateAsync(callOf(squid)),
  }
  const isPending = restart.isPending || hibernate.isPending || remove.isPending
  return {
    isPending,
    /** Why the whole menu of a version is disabled: a missing permission, or another action in progress (spec 4); null if it is enabled. */
    menuDisabledReason: (squid: SquidSummary): string | null =>
      reasonDenied(membership, 'squids.write') ??
      (isPending ? 'Another action is in progress. Wait for it to finish.' : squidActionChecks.delete(squid)),
    actionOf: (name: keyof typeof versionActions, squid: SquidSummary) =>
      actionOn(versionActions[name], squid, context),
    actionsOf: (squid: SquidSummary) => actionsOn(versionActions, squid, context),
  }
}
