import type { AlertChannel, AlertDelivery } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { Pencil, Trash2 } from 'lucide-react'
import { useOrg } from '../../../api/active-org.ts'
import type { EndpointName } from '../../../api/client.ts'
import { useApiMutation } from '../../../api/mutation.ts'
import { seed, withItem } from '../../../api/seed.ts'
import { confirm } from '../../../components/confirm.ts'
import type { MenuAction, MenuGroup } from '../../../ui/Menu.tsx'

const staleQueries: EndpointName[] = ['alerts.listChannels', 'alerts.listDeliveries']

/** Shows an added or changed channel in the list. */
export const seedChannel = (client: QueryClient, code: string, channel: AlertChannel): void =>
  seed(client, 'alerts.listChannels', { params: { code } }, (all) => withItem(all, channel, (other) => other.id))

type ChannelActions = {
  /** The requested state while a change is pending, otherwise the saved state. */
  isOn: boolean
  setEnabled: (isEnabled: boolean) => void
  isTesting: boolean
  test: () => void
  /** The result of the last test since the page was opened. */
  testDelivery: AlertDelivery | undefined
  menu: readonly MenuGroup[]
}

/** The actions of a channel. `onEdit` must open the form. */
export function useChannelActions({ id, type, name, isEnabled }: AlertChannel, onEdit: () => void): ChannelActions {
  const { code } = useOrg()
  const call = { params: { code, channelId: String(id) } }
  const change = useApiMutation('alerts.changeChannel', {
    invalidates: staleQueries,
    seeds: (client, changed) => seedChannel(client, code, changed),
  })
  const test = useApiMutation('alerts.testChannel', { invalidates: staleQueries })
  const remove = useApiMutation('alerts.removeChannel', {
    invalidates: staleQueries,
    seeds: (client) =>
      seed(client, 'alerts.listChannels', { params: { code } }, (all) => all.filter((other) => other.id !== id)),
    errorDisplay: 'caller',
  })
  const confirmRemove = () =>
    confirm({
      title: `Remove ${name}?`,
      body: 'Shoal stops sending alerts to this channel and removes its entries from the list of deliveries. Alerts and other channels are not affected.',
      confirmLabel: 'Remove',
      isDanger: true,
      action: () => remove.mutateAsync(call),
    })
  const editAction: MenuAction = { id: 'edit', label: 'Edit', icon: <Pencil size={16} />, onAction: onEdit }
  const removeAction: MenuAction = {
    id: 'remove',
    label: 'Remove',
    icon: <Trash2 size={16} />,
    isDanger: true,
    onAction: confirmRemove,
  }
  return {
    isOn: change.isPending ? change.variables.body.isEnabled : isEnabled,
    setEnabled: (isOn) => change.mutate({ ...call, body: { name, isEnabled: isOn } }),
    isTesting: test.isPending,
    test: () => test.mutate(call),
    testDelivery: test.isPending ? undefined : test.data,
    menu: [{ id: 'channel', actions: type === 'email' ? [editAction] : [editAction, removeAction] }],
  }
}
