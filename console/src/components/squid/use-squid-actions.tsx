import { squidDisabledReasons, type SquidSummary } from '@shoal/contract'
import { Copy, Moon, RotateCw, Trash2 } from 'lucide-react'
import { useOrg } from '../../api/active-org.ts'
import type { EndpointName } from '../../api/client.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seedDeployment } from '../../api/version.ts'
import { copyWithToast } from '../copy-with-toast.ts'
import type { MenuAction } from '../../ui/Menu.tsx'
import { useDeniedReason } from '../access.tsx'
import { confirm } from '../confirm.ts'
import { endpointOf } from './endpoint-of.ts'

/** What every action on a version changes (spec 4): the queries it invalidates, and the deployment that it starts. */
export const versionChange = {
  invalidates: ['squids.listSummaries', 'squids.list', 'squids.get', 'deployments.list'] satisfies EndpointName[],
  seeds: seedDeployment,
}

/** The actions on a version, with their confirmations (spec 4, Actions). */
export function useSquidActions() {
  const { code } = useOrg()
  const deniedReason = useDeniedReason('squids.write')
  const restart = useApiMutation('squids.restart', versionChange)
  const hibernate = useApiMutation('squids.hibernate', { ...versionChange, errorDisplay: 'caller' })
  const remove = useApiMutation('squids.delete', { ...versionChange, errorDisplay: 'caller' })
  const callOf = ({ reference }: SquidSummary) => ({ params: { code, reference } })
  const isPending = restart.isPending || hibernate.isPending || remove.isPending

  const confirmHibernate = (squid: SquidSummary) =>
    confirm({
      title: `Hibernate ${squid.reference}?`,
      body: 'This pauses its virtual machines to lower costs. All data is kept: you can restart or redeploy it with the data intact. Until then its API is not available.',
      confirmLabel: 'Hibernate',
      action: () => hibernate.mutateAsync(callOf(squid)),
    })
  const confirmDelete = (squid: SquidSummary) =>
    confirm({
      title: `Delete ${squid.reference}?`,
      body: `This deletes the version with its database, logs and metrics, and ${squid.tags.length === 0 ? 'its URL stops' : 'its URLs and tags stop'} working. This cannot be undone. Other versions of ${squid.name} are not affected.`,
      confirmLabel: 'Delete',
      isDanger: true,
      typedName: squid.reference,
      action: () => remove.mutateAsync(callOf(squid)),
    })

  return {
    /** Why the whole menu is disabled: missing permission, or another action in progress (spec 4). */
    menuDisabledReason: (squid: SquidSummary): string | null =>
      deniedReason ??
      (isPending ? 'Another action is in progress. Wait for it to finish.' : squidDisabledReasons.delete(squid)),
    restart: (squid: SquidSummary) => restart.mutate(callOf(squid)),
    actionsOf: (squid: SquidSummary): Record<'copy' | 'restart' | 'hibernate' | 'delete', MenuAction> => ({
      copy: {
        id: 'copy',
        label: 'Copy endpoint',
        icon: <Copy size={16} />,
        disabledReason: endpointDisabledReason(squid),
        onAction: () => copyEndpoint(squid),
      },
      restart: {
        id: 'restart',
        label: 'Restart',
        icon: <RotateCw size={16} />,
        disabledReason: deniedReason ?? squidDisabledReasons.restart(squid),
        onAction: () => restart.mutate(callOf(squid)),
      },
      hibernate: {
        id: 'hibernate',
        label: 'Hibernate',
        icon: <Moon size={16} />,
        disabledReason: deniedReason ?? squidDisabledReasons.hibernate(squid),
        onAction: () => confirmHibernate(squid),
      },
      delete: {
        id: 'delete',
        label: 'Delete',
        icon: <Trash2 size={16} />,
        isDanger: true,
        disabledReason: deniedReason ?? squidDisabledReasons.delete(squid),
        onAction: () => confirmDelete(squid),
      },
    }),
  }
}

/** Why the endpoint cannot be copied; null if it can. */
export const endpointDisabledReason = (squid: SquidSummary): string | null =>
  endpointOf(squid) === null ? 'This version has no API.' : squidDisabledReasons.copyEndpoint(squid)

export function copyEndpoint(squid: SquidSummary): void {
  const url = endpointOf(squid)
  if (url === null) return
  void copyWithToast(url, 'Endpoint copied', url)
}
