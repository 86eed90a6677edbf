import type { AlertDelivery } from '@shoal/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { RotateCw } from 'lucide-react'
import { useMemo } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { toast } from '../../lib/toasts.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { responseText } from './delivery-labels.ts'
import { ShowOlder } from '../../components/ShowOlder.tsx'
import { deliveriesQuery } from './queries.ts'
import { deliveryColumns } from './delivery-columns.tsx'

export const prefetch: Prefetch = ({ client, org }) => void client.prefetchInfiniteQuery(deliveriesQuery(org.code))

/** Messages sent to channels, and the response to each. */
export default function DeliveriesTab() {
  const { code } = useOrg()
  const replayDeniedReason = useDeniedReason('alerts.write')
  const { data, error, refetch, ...pagination } = useInfiniteQuery(deliveriesQuery(code))
  const rows = useMemo(() => data?.pages.flat(), [data])
  const replay = useApiMutation('alerts.replayDelivery', {
    invalidates: ['alerts.listDeliveries', 'alerts.listChannels'],
    onSuccess: (delivery) => toast(replayToast(delivery)),
  })
  const menuOf = ({ id, label, channel }: AlertDelivery) => ({
    label: `Actions for ${label} to ${channel.name}`,
    groups: [
      {
        id: 'delivery',
        actions: [
          {
            id: 'replay',
            label: 'Send again',
            icon: <RotateCw size={16} />,
            disabledReason: replayDeniedReason,
            onAction: () => replay.mutate({ params: { code, deliveryId: String(id) } }),
          },
        ],
      },
    ],
  })
  if (error && !data)
    return <ErrorState what="The deliveries could not be loaded" error={error} onRetry={() => void refetch()} />
  return (
    <>
      <DataTable
        label="Deliveries"
        columns={deliveryColumns}
        rows={rows}
        idOf={({ id }) => String(id)}
        nameOf={({ label, channel }) => `${label} to ${channel.name}`}
        hasTallRows
        menuOf={menuOf}
        empty={
          <EmptyState
            title="Nothing has been sent yet"
            text="Messages to your channels are listed here for 30 days, with the response to each."
            action={
              <Link to="/monitoring/alerts/channels" className={buttonClass()}>
                Send a test
              </Link>
            }
          />
        }
      />
      <ShowOlder {...pagination} />
    </>
  )
}

function replayToast(delivery: AlertDelivery) {
  const message = [delivery.channel.name, responseText(delivery)].filter(Boolean).join(' · ')
  return delivery.status === 'DELIVERED'
    ? ({ tone: 'good', title: 'Sent again', message } as const)
    : ({ tone: 'warn', title: 'Sent again, but not accepted', message } as const)
}
