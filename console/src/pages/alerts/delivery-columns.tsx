import type { AlertDelivery } from '@shoal/contract'
import type { Column } from '../../components/data-table/columns.ts'
import { numberColumn, textColumn, timeColumn } from '../../components/data-table/named-columns.tsx'
import { StatusDot } from '../../components/StatusDot.tsx'
import { emptyValue, formatDateTime, formatInteger } from '../../lib/format.ts'
import { useTicking } from '../../lib/ticker.ts'
import { AlertSubject } from './AlertSubject.tsx'
import { deliveryAppearance, messageLabels, nextAttemptText, responseText } from './delivery-labels.ts'

/** The columns of the list of deliveries. */
export const deliveryColumns: Column<AlertDelivery>[] = [
  {
    id: 'what',
    header: 'Message',
    cell: ({ what, label, alert, channel }) => (
      <div className="py-2 whitespace-normal">
        <p className="font-medium break-words">{label}</p>
        <p className="text-ink-3">
          {messageLabels[what]}
          <span className="lg:hidden"> to {channel.name}</span>
        </p>
        {alert && (
          <p className="mt-1 lg:hidden">
            <AlertSubject alert={alert} />
          </p>
        )}
      </div>
    ),
  },
  {
    id: 'subject',
    header: 'About',
    width: '180px',
    hideBelow: 'lg',
    cell: ({ alert }) => (
      <div className="py-2 whitespace-normal">{alert ? <AlertSubject alert={alert} /> : emptyValue}</div>
    ),
  },
  textColumn('Channel', ({ channel }) => channel.name, { width: '150px', hideBelow: 'lg' }),
  {
    id: 'status',
    header: 'Status',
    width: '120px',
    narrowWidth: '118px',
    cell: ({ status }) => {
      const { tone, label, isPulsing } = deliveryAppearance[status]
      return (
        <StatusDot tone={tone} isPulsing={isPulsing}>
          {label}
        </StatusDot>
      )
    },
  },
  {
    id: 'response',
    header: 'Response',
    width: '170px',
    hideBelow: 'sm',
    cell: (delivery) => (
      <div className="py-2 whitespace-normal">
        <p className="break-words text-ink-2">{responseText(delivery) || emptyValue}</p>
        {delivery.nextTryAt && delivery.tries > 0 && (
          <p className="text-ink-3">
            <NextAttempt at={delivery.nextTryAt} />
          </p>
        )}
      </div>
    ),
  },
  numberColumn('Attempts', ({ tries }) => formatInteger(tries), { width: '64px', hideBelow: 'lg' }),
  timeColumn('Last attempt', ({ lastTriedAt, createdAt }) => lastTriedAt ?? createdAt, {
    headerTip: 'Before the first attempt: when the message was created',
    width: '124px',
    hideBelow: 'md',
  }),
]

function NextAttempt({ at }: { at: string }) {
  const text = useTicking((nowMs) => nextAttemptText(at, nowMs))
  return (
    <time dateTime={at} data-tip={formatDateTime(at)} className="tabular">
      {text}
    </time>
  )
}
