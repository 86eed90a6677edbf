import type { AlertDelivery } from '@shoal/contract'
import type { Column } from '../../../components/data-table/columns.ts'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { StatusDot } from '../../../components/StatusDot.tsx'
import { formatInteger, nothing } from '../../../lib/format.ts'
import { AlertAbout } from '../AlertAbout.tsx'
import { answerOf, deliveryLook, whatWords } from '../delivery-words.ts'

export const deliveryColumns: Column<AlertDelivery>[] = [
  {
    id: 'what',
    header: 'Message',
    cell: ({ what, label, alert, channel }) => (
      <div className="py-2 whitespace-normal">
        <p className="font-medium break-words">{label}</p>
        <p className="text-ink-3">
          {whatWords[what]}
          <span className="lg:hidden"> to {channel.name}</span>
        </p>
        {alert && (
          <p className="mt-1 lg:hidden">
            <AlertAbout alert={alert} />
          </p>
        )}
      </div>
    ),
  },
  {
    id: 'about',
    header: 'About',
    width: '180px',
    foldBelow: 'lg',
    cell: ({ alert }) => <div className="py-2 whitespace-normal">{alert ? <AlertAbout alert={alert} /> : nothing}</div>,
  },
  { id: 'channel', header: 'Channel', width: '150px', foldBelow: 'lg', cell: ({ channel }) => channel.name },
  {
    id: 'status',
    header: 'Status',
    width: '120px',
    cell: ({ status }) => {
      const { tone, label, isMoving } = deliveryLook[status]
      return (
        <StatusDot tone={tone} isMoving={isMoving}>
          {label}
        </StatusDot>
      )
    },
  },
  {
    id: 'answer',
    header: 'Answer',
    width: '170px',
    foldBelow: 'sm',
    cell: (delivery) => (
      <div className="py-2 whitespace-normal">
        <p className="break-words text-ink-2">{answerOf(delivery) || nothing}</p>
        {delivery.nextTryAt && delivery.tries > 0 && (
          <p className="text-ink-3">
            next try <RelativeTime at={delivery.nextTryAt} />
          </p>
        )}
      </div>
    ),
  },
  {
    id: 'tries',
    header: 'Tries',
    width: '64px',
    isNumber: true,
    foldBelow: 'lg',
    cell: ({ tries }) => formatInteger(tries),
  },
  {
    id: 'sent',
    header: 'Last tried',
    headerTip: 'Or when it was made, while it waits for its first try',
    width: '124px',
    foldBelow: 'md',
    cell: ({ lastTriedAt, createdAt }) => <RelativeTime at={lastTriedAt ?? createdAt} />,
  },
]
