import { squidActionChecks, type Deployment, type Squid } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { FileDiff, List, Undo2 } from 'lucide-react'
import { formatDateTime } from '../../lib/format.ts'
import { actionOn, actionsOn, useMembership, type ActionOn } from '../actions.ts'
import { deploysCode, shortImage } from '../deployment-title.ts'
import { useRollback } from './use-version-actions.ts'

type DeploymentContext = {
  squid: Squid
  open: (deployment: Deployment) => void
  openChanges: (deployment: Deployment) => void
  rollback: (reference: string, deploymentId: number) => Promise<unknown>
}

/** The actions on a deployment of a version. */
export const deploymentActions = {
  open: { label: 'Show log', icon: List, run: (deployment, { open }) => open(deployment) },
  openChanges: {
    label: 'What changed',
    icon: FileDiff,
    permission: 'squids.write',
    appliesTo: ({ type }) => deploysCode(type),
    run: (deployment, { openChanges }) => openChanges(deployment),
  },
  rollBack: {
    label: 'Roll back to this',
    icon: Undo2,
    permission: 'squids.write',
    disabledReason: (deployment, { squid }) => rollbackDisabledReason(squid, deployment),
    confirm: ({ id, image, createdAt }, { squid }) => ({
      title: `Roll back ${squid.reference} to deployment ${id}?`,
      body: (
        <>
          <p className="mb-2">
            This runs image <code className="text-ink">{shortImage(image ?? '')}</code> again, which deployment {id}{' '}
            started on {formatDateTime(createdAt)}.
          </p>
          <RollbackNote />
        </>
      ),
      confirmLabel: 'Roll back',
    }),
    run: ({ id }, { squid, rollback }) => rollback(squid.reference, id),
  },
} satisfies Record<string, ActionOn<Deployment, DeploymentContext>>

/** The actions on deployments of this version, bound to the current page and user. */
export function useDeploymentActions(squid: Squid) {
  const { name: squidName, slot: squidSlot } = squid
  const navigate = useNavigate()
  const paramsOf = ({ id }: Deployment) => ({ squidName, squidSlot, deployId: String(id) })
  const open = (deployment: Deployment) =>
    void navigate({ to: '/squids/$squidName/$squidSlot/deployments/$deployId', params: paramsOf(deployment) })
  const openChanges = (deployment: Deployment) =>
    void navigate({ to: '/squids/$squidName/$squidSlot/deployments/$deployId/changes', params: paramsOf(deployment) })
  const context = { squid, open, openChanges, rollback: useRollback(), membership: useMembership() }
  return {
    open,
    actionsOf: (deployment: Deployment) => actionsOn(deploymentActions, deployment, context),
    rollBackOf: (deployment: Deployment) => actionOn(deploymentActions.rollBack, deployment, context),
  }
}

/** Why the version cannot roll back to this deployment; null if it can. */
export function rollbackDisabledReason(
  squid: Pick<Squid, 'status' | 'lastDeploy' | 'image'>,
  deployment: Pick<Deployment, 'image' | 'failed' | 'type'>,
): string | null {
  if (!deploysCode(deployment.type)) return 'It did not change the code.'
  if (deployment.failed !== 'NO') return 'It failed, so there is nothing to roll back to.'
  const versionReason = squidActionChecks.rollback(squid)
  if (versionReason !== null) return versionReason
  if (deployment.image === null) return 'Its image is no longer kept.'
  return deployment.image === squid.image ? 'This is the current image.' : null
}

/** Explains what a rollback changes and what it keeps. */
export const RollbackNote = () => (
  <p>
    The version keeps its URLs and tags and runs with the current secrets. The database is not changed, so older code
    may not match its tables. The API of the version stays available: the current programs respond until the new ones
    do.
  </p>
)
