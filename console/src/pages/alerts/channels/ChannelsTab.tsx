import type { AlertChannel } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useOrg } from '../../../api/active-org.ts'
import { alertsPollMs } from '../../../api/alerts.ts'
import type { Prefetch } from '../../../api/prefetch.ts'
import { q } from '../../../api/query.ts'
import { useDeniedReason } from '../../../components/access.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Card } from '../../../ui/Card.tsx'
import { prefetch as prefetchCode } from '../../../ui/prefetch.ts'
import { SkeletonRows } from '../../../ui/Skeleton.tsx'
import { ChannelRow } from './ChannelRow.tsx'
import { lazyPart, LazyBoundary } from '../../../lib/lazy.tsx'

const channelsQuery = (code: string) =>
  q('alerts.listChannels', { params: { code } }, { refetchInterval: alertsPollMs })

export const prefetch: Prefetch = ({ client, org }) => void client.prefetchQuery(channelsQuery(org.code))

const loadAdd = () => import('./AddChannelDialog.tsx')
const AddChannelDialog = lazyPart(loadAdd)

/** The list of the channels to which Shoal sends alerts. */
export default function ChannelsTab() {
  const { code } = useOrg()
  const deniedReason = useDeniedReason('alerts.write')
  const channels = useQuery(channelsQuery(code))
  const [isAdding, setIsAdding] = useState(false)
  return (
    <div>
      <header className="mb-3 flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 basis-72 text-ink-2">
          Shoal notifies every channel when an alert opens, and again when it ends.
        </p>
        <Button
          variant="primary"
          disabledReason={deniedReason}
          onPointerEnter={() => prefetchCode(loadAdd)}
          onFocus={() => prefetchCode(loadAdd)}
          onClick={() => setIsAdding(true)}
        >
          Add channel
        </Button>
      </header>
      <QueryView
        query={channels}
        what="The channels"
        skeleton={
          <Card>
            <SkeletonRows count={2} rowClass="h-16" />
          </Card>
        }
      >
        {(all: AlertChannel[]) => (
          <Card>
            <ul aria-label="Channels" className="divide-y divide-line">
              {all.map((channel) => (
                <ChannelRow key={channel.id} channel={channel} deniedReason={deniedReason} />
              ))}
            </ul>
            {all.length === 1 && (
              <p className="border-t border-line px-3.5 py-3 text-ink-2">
                Add a webhook to notify your own server, or Slack to notify a team.
              </p>
            )}
          </Card>
        )}
      </QueryView>
      <LazyBoundary what="The dialog" onFailed={() => setIsAdding(false)}>
        {isAdding && <AddChannelDialog code={code} onClose={() => setIsAdding(false)} />}
      </LazyBoundary>
    </div>
  )
}
