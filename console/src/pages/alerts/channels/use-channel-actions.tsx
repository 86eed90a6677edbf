import type { AlertChannel, AlertDelivery } from '@shoal/contract'
import { Pencil, Trash2 } from 'lucide-react'
import { useOrg } from '../../../api/active-org.ts'
import type { EndpointName } from '../../../api/client.ts'
import { seedChannel } from '../../../api/alerts.ts'
import { useApiMutation } from '../../../api/mutation.ts'
import { seed } from '../../../api/seed.ts'
import { seedDelivery } from '../queries.ts'
import { actionsOn, useMembership, type ActionOn } from '../../../components/actions.ts'
import { groupsOf, type ActionGroup } from '../../../ui/action.ts'

const invalidates: EndpointName[] = ['alerts.listChannels', 'alerts.listDeliveries']

type ChannelContext = { edit: () => void; remove: () => Promise<unknown> }

/** The actions in the menu of a channel. */
const channelActions = {
  edit: { label: 'Edit', icon: Pencil, run: (_, { edit }) => edit() },
  remove: {
    label: 'Remove',
    icon: Trash2,
    isDanger: true,
    appliesTo: ({ type }) => type !== 'email',
    confirm: ({ name }) => ({
      title: `Remove ${name}?`,
      body: 'Shoal stops sending alerts to this channel and removes its entries from the list of deliveries. Alerts and other channels are not affected.',
      confirmLabel: 'Remove',
    }),
    run: (_, { remove }) => remove(),
  },
} satisfies Record<string, ActionOn<AlertChannel, ChannelContext>>

type ChannelActions = {
  /** Whether the switch is on: the requested state while a change is pending, otherwise the saved state. */
  requestedIsEnabled: boolean
  setEnabled: (isEnabled: boolean) => void
  isTesting: boolean
  test: () => void
  /** The delivery of the last test since the page was opened; undefined before the first test and during one. */
  testDelivery: AlertDelivery | undefined
  menu: readonly ActionGroup[]
}

/** The state and the actions of a channel. `onEdit` must open the form. */
export function useChannelActions(channel: AlertChannel, onEdit: () => void): ChannelActions {
  const { id, name, isEnabled } = channel
  const { code } = useOrg()
  const call = { params: { code, channelId: String(id) } }
  const change = useApiMutation('alerts.changeChannel', {
    invalidates,
    seeds: (client, changed) => seedChannel(client, code, changed),
  })
  const test = useApiMutation('alerts.testChannel', {
    invalidates,
    seeds: (client, delivery) => seedDelivery(client, code, delivery),
  })
  const remove = useApiMutation('alerts.removeChannel', {
    invalidates,
    seeds: (client) =>
      seed(client, 'alerts.listChannels', { params: { code } }, (all) => all.filter((other) => other.id !== id)),
    errorDisplay: 'caller',
  })
  const context = { membership: useMembership(), edit: onEdit, remove: () => remove.mutateAsync(call) }
  return {
    requestedIsEnabled: change.isPending ? change.variables.body.isEnabled : isEnabled,
    setEnabled: (next) => change.mutate({ ...call, body: { name, isEnabled: next } }),
    isTesting: test.isPending,
    test: () => test.mutate(call),
    testDelivery: test.isPending ? undefined : test.data,
    menu: groupsOf(actionsOn(channelActions, channel, context)),
  }
}
