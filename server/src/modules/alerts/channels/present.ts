import type { AlertChannel, AlertDelivery } from '@shoal/contract'
import type { Sealer } from '../../../sealing/sealer.ts'
import type { EventRow } from '../event-store.ts'
import { presentSubject } from '../present.ts'
import type { ChannelRow } from './channel-store.ts'
import type { DeliveryRow } from './delivery-store.ts'

/** The contexts that bind the sealed values of a channel to its row. */
export const channelUrlContext = (id: number): string => `alert channel ${id} url`
export const signingSecretContext = (id: number): string => `alert channel ${id} signing secret`

/** Returns the URL of the channel; null for the email channel. */
export const targetOf = (sealer: Sealer, { id, sealedUrl }: ChannelRow): URL | null =>
  sealedUrl === null ? null : new URL(sealer.open(sealedUrl, channelUrlContext(id)))

/**
 * Returns the API representation of the channel. `email` is the address for the organization's notifications. `mayChange`: whether the caller may
 * change the channel.
 */
export function presentChannel(
  sealer: Sealer,
  row: ChannelRow,
  email: string | null,
  lastDelivery: DeliveryRow | null,
  mayChange: boolean,
): AlertChannel {
  const { id, type, name, isEnabled } = row
  const url = targetOf(sealer, row)
  return {
    id,
    type,
    name,
    // URLs of Slack and of many webhooks contain a credential; which part is secret depends on the service.
    target: type === 'email' ? email : url && (type === 'slack' || !mayChange ? `${url.origin}/***` : url.href),
    isEnabled,
    lastDelivery: lastDelivery
      ? { status: lastDelivery.status, at: (lastDelivery.lastTriedAt ?? lastDelivery.createdAt).toISOString() }
      : null,
  }
}

type SentDelivery = { delivery: DeliveryRow; channel: Pick<ChannelRow, 'id' | 'name' | 'type'>; event: EventRow | null }

/** Returns the API representation of the delivery. `existing`: the ids of the versions that still exist. */
export const presentDelivery = (
  { delivery, channel, event }: SentDelivery,
  existing: ReadonlySet<number>,
): AlertDelivery => ({
  id: delivery.id,
  channel: { id: channel.id, name: channel.name, type: channel.type },
  what: delivery.what,
  label: delivery.label,
  alert: event && presentSubject(event, existing),
  status: delivery.status,
  tries: delivery.tries,
  httpStatus: delivery.httpStatus,
  error: delivery.error,
  createdAt: delivery.createdAt.toISOString(),
  lastTriedAt: delivery.lastTriedAt?.toISOString() ?? null,
  nextTryAt: delivery.nextTryAt?.toISOString() ?? null,
})
