import type { AlertChannel, AlertDelivery } from '@shoal/contract'
import type { Sealer } from '../../../sealer.ts'
import type { ChannelRow, DeliveryRow } from './channel-store.ts'

export const channelUrlContext = (id: number): string => `alert channel ${id} url`
export const signingSecretContext = (id: number): string => `alert channel ${id} signing secret`

export function presentChannel(
  sealer: Sealer,
  row: ChannelRow,
  orgEmail: string | null,
  last: DeliveryRow | undefined,
): AlertChannel {
  return {
    id: row.id,
    type: row.type,
    name: row.name,
    target: row.type === 'email' ? orgEmail : targetOf(sealer, row),
    isEnabled: row.isEnabled,
    lastDelivery: last ? { status: last.status, at: (last.lastTriedAt ?? last.createdAt).toISOString() } : null,
  }
}

/** Whoever has a Slack address may write to the channel: its last part is its secret. */
function targetOf(sealer: Sealer, { id, type, sealedUrl }: ChannelRow): string | null {
  if (sealedUrl === null) return null
  const url = sealer.open(sealedUrl, channelUrlContext(id))
  return type === 'slack' ? url.replace(/[^/]{1,200}$/, '***') : url
}

export const presentDelivery = ({
  delivery,
  channel,
}: {
  delivery: DeliveryRow
  channel: Pick<ChannelRow, 'id' | 'name' | 'type'>
}): AlertDelivery => ({
  id: delivery.id,
  channel: { id: channel.id, name: channel.name, type: channel.type },
  what: delivery.what,
  label: delivery.label,
  status: delivery.status,
  tries: delivery.tries,
  httpStatus: delivery.httpStatus,
  error: delivery.error,
  createdAt: delivery.createdAt.toISOString(),
  lastTriedAt: delivery.lastTriedAt?.toISOString() ?? null,
  nextTryAt: delivery.nextTryAt?.toISOString() ?? null,
})
