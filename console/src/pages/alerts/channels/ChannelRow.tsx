import type { AlertChannel, AlertDelivery } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { Ellipsis, Hash, Mail, Webhook } from 'lucide-react'
import { useState } from 'react'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { StatusDot } from '../../../components/StatusDot.tsx'
import { Alert } from '../../../ui/Alert.tsx'
import { Button } from '../../../ui/Button.tsx'
import { IconButton } from '../../../ui/IconButton.tsx'
import { MenuButton } from '../../../components/MenuButton.tsx'
import { Switch } from '../../../ui/Switch.tsx'
import { responseText, deliveryAppearance } from '../delivery-labels.ts'
import { useChannelActions } from './use-channel-actions.tsx'
import { lazyPart, LazyBoundary } from '../../../lib/lazy.tsx'

const EditChannelDialog = lazyPart(() => import('./EditChannelDialog.tsx'))

const icons = { email: Mail, webhook: Webhook, slack: Hash }
const typeLabels = { email: 'Email', webhook: 'Webhook', slack: 'Slack' }

type Props = {
  channel: AlertChannel
  /** Why the user may not change the channel; null if they may. */
  deniedReason: string | null
}

/** One channel in the list, with its target, last delivery and actions. */
export function ChannelRow({ channel, deniedReason }: Props) {
  const { type, name, isEnabled } = channel
  const [isEditing, setIsEditing] = useState(false)
  const { requestedIsEnabled, isTesting, testDelivery, setEnabled, test, menu } = useChannelActions(channel, () =>
    setIsEditing(true),
  )
  const Icon = icons[type]
  return (
    <li aria-label={name} className="px-3.5 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Icon size={16} aria-hidden className="shrink-0 text-ink-3" />
        <div className="min-w-0 flex-1 basis-60">
          <p className="font-medium break-words">
            {name}
            {name !== typeLabels[type] && <span className="ml-2 font-normal text-ink-3">{typeLabels[type]}</span>}
          </p>
          <Target channel={channel} />
        </div>
        <LastDelivery channel={channel} />
        <div className="flex items-center gap-2">
          <Switch
            checked={requestedIsEnabled}
            disabled={deniedReason !== null}
            title={deniedReason ?? undefined}
            onChange={({ target }) => setEnabled(target.checked)}
            className="mr-1"
          >
            <span className="sr-only">Notify {name}</span>
            <span aria-hidden className="inline-block w-6 text-sm text-ink-2">
              {requestedIsEnabled ? 'On' : 'Off'}
            </span>
          </Switch>
          <Button
            size={28}
            aria-label={`Test ${name}`}
            isPending={isTesting}
            disabledReason={deniedReason}
            onClick={test}
          >
            Test
          </Button>
          {deniedReason === null ? (
            <MenuButton
              label={`Actions for ${name}`}
              groups={menu}
              placement="bottom end"
              renderTrigger={(trigger) => (
                <IconButton
                  {...trigger}
                  label={`Actions for ${name}`}
                  size={28}
                  icon={<Ellipsis size={16} aria-hidden />}
                />
              )}
            />
          ) : (
            <span className="size-7" />
          )}
        </div>
      </div>
      {testDelivery && <TestOutcome delivery={testDelivery} isEnabled={isEnabled} />}
      <LazyBoundary what="The dialog" onFailed={() => setIsEditing(false)}>
        {isEditing && <EditChannelDialog channel={channel} onClose={() => setIsEditing(false)} />}
      </LazyBoundary>
    </li>
  )
}

function Target({ channel: { type, target } }: Pick<Props, 'channel'>) {
  if (target !== null)
    return type === 'email' ? (
      <p className="break-words text-ink-2">{target}</p>
    ) : (
      <code className="block text-code break-all text-ink-2">{target}</code>
    )
  if (type !== 'email') return null
  return (
    <p className="text-warn">
      No confirmed email address.{' '}
      <Link to="/settings" className="underline underline-offset-3">
        Confirm one in the settings
      </Link>
    </p>
  )
}

function LastDelivery({ channel: { lastDelivery } }: Pick<Props, 'channel'>) {
  if (lastDelivery === null) return <p className="w-36 text-sm text-ink-3">Nothing sent yet</p>
  const { tone, label, isPulsing } = deliveryAppearance[lastDelivery.status]
  return (
    <p className="w-36 text-sm">
      <StatusDot tone={tone} isPulsing={isPulsing}>
        {label}
      </StatusDot>
      <span className="block pl-3.5 text-ink-3">
        <RelativeTime at={lastDelivery.at} />
      </span>
    </p>
  )
}

type TestOutcomeProps = { delivery: AlertDelivery; isEnabled: boolean }

function TestOutcome({ delivery, isEnabled }: TestOutcomeProps) {
  const response = responseText(delivery)
  const isDelivered = delivery.status === 'DELIVERED'
  return (
    <Alert tone={isDelivered ? 'good' : 'bad'} className="mt-3">
      {isDelivered ? 'The test was delivered' : 'The test was not delivered'}
      {response === '' ? '.' : `: ${response.replace(/\.$/, '')}.`}
      {!isEnabled && ' Alerts are not sent while the channel is off.'}
    </Alert>
  )
}
