import { alertRules, type AlertMute } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seed } from '../../api/seed.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { mutesQuery } from './queries.ts'

/** Lists the active mutes; renders nothing if there are none. */
export function MutesBar() {
  const { code } = useOrg()
  const mutes = useQuery(mutesQuery(code)).data ?? []
  if (mutes.length === 0) return null
  return (
    <Alert tone="info" title="Muted alerts" className="mb-4">
      <ul>
        {mutes.map((mute) => (
          <MuteRow key={mute.id} mute={mute} />
        ))}
      </ul>
    </Alert>
  )
}

function MuteRow({ mute }: { mute: AlertMute }) {
  const { code } = useOrg()
  const deniedReason = useDeniedReason('squids.write')
  const unmute = useApiMutation('alerts.unmute', {
    invalidates: ['alerts.listMutes', 'alerts.list'],
    seeds: (client) =>
      seed(client, 'alerts.listMutes', { params: { code } }, (mutes) => mutes.filter(({ id }) => id !== mute.id)),
  })
  const title = muteTitle(mute)
  return (
    <li className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-2">
      <span className="min-w-0 flex-1 basis-60">
        {title}
        <span className="text-ink-2">
          {' '}
          · ends <RelativeTime at={mute.until} /> · muted by {mute.createdBy}
        </span>
      </span>
      <Button
        size={28}
        aria-label={`Unmute ${title}`}
        isPending={unmute.isPending}
        disabledReason={deniedReason}
        onClick={() => unmute.mutate({ params: { code, muteId: String(mute.id) } })}
      >
        Unmute
      </Button>
    </li>
  )
}

/** Returns a title such as `Stalled of lending@v1`, `All alerts of lending@v1`, `Stalled` or `All alerts`. */
function muteTitle({ kind, squid }: Pick<AlertMute, 'kind' | 'squid'>): string {
  const reference = squid && `${squid.name}@${squid.slot}`
  if (kind === null) return reference ? `All alerts of ${reference}` : 'All alerts'
  const { title } = alertRules[kind]
  return reference ? `${title} of ${reference}` : title
}
