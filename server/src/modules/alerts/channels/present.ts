import type { AlertChannel, AlertDelivery } from '@shoal/contract'
import type { Sealer } from '../../../sealing/sealer.ts'
import type { EventRow } from '../event-store.ts'
import { presentAbout } from '../present.ts'
import type { ChannelRow } from './channel-store.ts'
import type { DeliveryRow } from './delivery-store.ts'

export const channelUrlContext = (id: number): string => `alert channel ${id} url`
export const signingSecretContext = (id: number): string => `alert channel ${id} signing secret`

/** The URL of the channel; null for e-mail. */
export const targetOf = (sealer: Sealer, { id, sealedUrl }: ChannelRow): URL | null =>
  sealedUrl === null ? null : new URL(sealer.open(sealedUrl, channelUrlContext(id)))

/** `email` is the address for the organization's notifications. */
export function presentChannel(
  sealer: Sealer,
  row: ChannelRow,
  email: string | null,
  last: DeliveryRow | null,
): AlertChannel {
  const { id, type, name, isEnabled } = row
  const url = targetOf(sealer, row)
  return {
    id,
    type,
    name,
    // The path of a Slack URL is a credential; which part of it is secret varies.
    target: type === 'email' ? email : ((type === 'slack' ? url && `${url.origin}/***` : url?.href) ?? null),
    isEnabled,
    lastDelivery: last ? { status: last.status, at: (last.lastTriedAt ?? last.createdAt).toISOString() } : null,
  }
}

type SentDelivery = { delivery: DeliveryRow; channel: Pick<ChannelRow, 'id' | 'name' | 'type'>; event: EventRow | null }

/** `existing`: ids of the versions that still exist. */
export const presentDelivery = (
  { delivery, channel, event }: SentDelivery,
  existing: ReadonlySet<number>,
): AlertDelivery => ({
  id: delivery.id,
  channel: { id: channel.id, name: channel.name, type: channel.type },
  what: delivery.what,
  label: delivery.label,
  alert: event && presentAbout(event, existing),
  status: delivery.status,
  tries: delivery.tries,
  httpStatus: delivery.httpStatus,
  error: delivery.error,
  createdAt: delivery.createdAt.toISOString(),
  lastTriedAt: delivery.lastTriedAt?.toISOString() ?? null,
  nextTryAt: delivery.nextTryAt?.toISOString() ?? null,
})
