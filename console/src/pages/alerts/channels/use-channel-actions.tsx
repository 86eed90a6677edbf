import type { AlertChannel, AlertDelivery } from '@shoal/contract'
import { Pencil, Trash2 } from 'lucide-react'
import { useOrg } from '../../../api/active-org.ts'
import type { EndpointName } from '../../../api/client.ts'
import { useApiMutation } from '../../../api/mutation.ts'
import { confirm } from '../../../components/confirm.ts'
import type { MenuAction, MenuGroup } from '../../../ui/Menu.tsx'

const changed: EndpointName[] = ['alerts.listChannels', 'alerts.listDeliveries']

type ChannelActions = {
  /** Includes the requested state, before the server has responded. */
  isOn: boolean
  setEnabled: (isEnabled: boolean) => void
  isTesting: boolean
  test: () => void
  /** The result of the last test since the page was opened. */
  tested: AlertDelivery | undefined
  menu: readonly MenuGroup[]
}

/** The actions on a channel; `onEdit` opens the form. */
export function useChannelActions({ id, type, name, isEnabled }: AlertChannel, onEdit: () => void): ChannelActions {
  const call = { params: { code: useOrg().code, channelId: String(id) } }
  const change = useApiMutation('alerts.changeChannel', { invalidates: changed })
  const test = useApiMutation('alerts.testChannel', { invalidates: changed })
  const remove = useApiMutation('alerts.removeChannel', { invalidates: changed, errorDisplay: 'caller' })
  const confirmRemove = () =>
    confirm({
      title: `Remove ${name}?`,
      body: 'Shoal stops sending alerts there and removes its entries from the list of deliveries. Alerts and other channels are not affected.',
      confirmLabel: 'Remove',
      isDanger: true,
      action: () => remove.mutateAsync(call),
    })
  const edit: MenuAction = { id: 'edit', label: 'Edit', icon: <Pencil size={16} />, onAction: onEdit }
  const removal: MenuAction = {
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
    tested: test.isPending ? undefined : test.data,
    menu: [{ id: 'channel', actions: type === 'email' ? [edit] : [edit, removal] }],
  }
}
