import type { AlertDelivery } from '@shoal/contract'
import { RotateCw } from 'lucide-react'
import { useOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { actionsOn, useMembership, type ActionOn } from '../../components/actions.ts'
import { toast } from '../../lib/toasts.ts'
import { seedDelivery } from './queries.ts'
import { responseText } from './delivery-labels.ts'

type DeliveryContext = { replay: (delivery: AlertDelivery) => void }

/** The actions on a delivery. */
const deliveryActions = {
  replay: {
    label: 'Send again',
    icon: RotateCw,
    permission: 'alerts.write',
    run: (delivery, { replay }) => replay(delivery),
  },
} satisfies Record<string, ActionOn<AlertDelivery, DeliveryContext>>

/** Returns a function that returns the actions on a delivery, bound to the current user. */
export function useDeliveryActions() {
  const { code } = useOrg()
  const replay = useApiMutation('alerts.replayDelivery', {
    invalidates: ['alerts.listDeliveries', 'alerts.listChannels'],
    seeds: (client, delivery) => seedDelivery(client, code, delivery),
    onSuccess: (delivery) => toast(replayToast(delivery)),
  })
  const context = {
    membership: useMembership(),
    replay: ({ id }: AlertDelivery) => replay.mutate({ params: { code, deliveryId: String(id) } }),
  }
  return (delivery: AlertDelivery) => actionsOn(deliveryActions, delivery, context)
}

function replayToast(delivery: AlertDelivery) {
  const message = [delivery.channel.name, responseText(delivery)].filter(Boolean).join(' · ')
  return delivery.status === 'DELIVERED'
    ? ({ tone: 'good', title: 'Sent again', message } as const)
    : ({ tone: 'warn', title: 'Sent again, but not accepted', message } as const)
}
