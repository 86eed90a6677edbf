import { useInfiniteQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { LinkButton } from '../../components/LinkButton.tsx'
import { deliveryColumns } from './delivery-columns.tsx'
import { deliveriesQuery } from './queries.ts'
import { useDeliveryActions } from './use-delivery-actions.ts'

export const prefetch: Prefetch = ({ client, org }) => void client.prefetchInfiniteQuery(deliveriesQuery(org.code))

const empty = {
  title: 'Nothing has been sent yet',
  text: 'Messages to your channels are listed here for 30 days, with the response to each.',
  action: <LinkButton to="/monitoring/alerts/channels">Send a test</LinkButton>,
}

/** Messages sent to channels, and the response to each. */
export default function DeliveriesTab() {
  return (
    <QueryTable
      label="Deliveries"
      query={useInfiniteQuery(deliveriesQuery(useOrg().code))}
      columns={deliveryColumns}
      idOf={({ id }) => String(id)}
      nameOf={({ label, channel }) => `${label} to ${channel.name}`}
      actions={useDeliveryActions()}
      empty={empty}
    />
  )
}
