import type { AlertDelivery } from '@shoal/contract'
import { RotateCw } from 'lucide-react'
import type { Column } from '../../../components/data-table/columns.ts'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { StatusDot } from '../../../components/StatusDot.tsx'
import { formatInteger } from '../../../lib/format.ts'
import { IconButton } from '../../../ui/IconButton.tsx'
import { answerOf, deliveryLook, whatWords } from '../delivery-words.ts'

type Replaying = {
  whyNotReplay: string | null
  /** Id of the one that is sent just now. */
  replayedId: string | null
  onReplay: (delivery: AlertDelivery) => void
}

export const deliveryColumns = ({ whyNotReplay, replayedId, onReplay }: Replaying): Column<AlertDelivery>[] => [
  {
    id: 'what',
    header: 'Message',
    cell: ({ what, label, channel }) => (
      <div className="py-2 whitespace-normal">
        <p className="font-medium break-words">{label}</p>
        <p className="text-ink-3">
          {whatWords[what]}
          <span className="md:hidden"> · {channel.name}</span>
        </p>
      </div>
    ),
  },
  { id: 'channel', header: 'Channel', width: '150px', foldBelow: 'md', cell: ({ channel }) => channel.name },
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
    foldBelow: 'sm',
    cell: (delivery) => (
      <div className="py-2 whitespace-normal">
        <p className="break-words text-ink-2">{answerOf(delivery)}</p>
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
  {
    id: 'replay',
    header: 'Replay',
    width: '72px',
    cell: (delivery) => (
      <IconButton
        label={`Send once more: ${delivery.label} to ${delivery.channel.name}`}
        size={28}
        icon={<RotateCw size={15} aria-hidden />}
        isPending={replayedId === String(delivery.id)}
        disabledReason={whyNotReplay}
        onClick={() => onReplay(delivery)}
      />
    ),
  },
]
