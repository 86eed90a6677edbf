import type { AlertDelivery } from '@shoal/contract'
import { Alert } from '../../../ui/Alert.tsx'
import { answerOf } from '../delivery-words.ts'

type Props = { delivery: AlertDelivery; isEnabled: boolean }

/** How a test went, below the channel. */
export function TestOutcome({ delivery, isEnabled }: Props) {
  const answer = answerOf(delivery)
  const isDelivered = delivery.status === 'DELIVERED'
  return (
    <Alert tone={isDelivered ? 'good' : 'bad'} className="mt-3">
      {isDelivered ? 'The test was delivered' : 'The test was not delivered'}
      {answer && `: ${answer}`}
      {!isEnabled && ' Alerts are not sent while the channel is off.'}
    </Alert>
  )
}
