import type { AlertDelivery, AlertEvent } from '@shoal/contract'
import type { Db } from '../../../db/database.ts'
import { addDeliveries, ensureEmailChannel, listChannels } from './channel-store.ts'

/** What channels are told of; `event` as the API shows it. */
export type Told = {
  orgId: number
  event: AlertEvent
  what: Exclude<AlertDelivery['what'], 'TEST'>
  at: Date
  /** It ended since somebody stopped or changed the version: programs that opened an incident must close it, people know. */
  isQuiet: boolean
}

/**
 * Writes down what is to be sent to each channel of the organization, in the transaction that opens or ends the alert: either both
 * happen or neither. Nothing is sent here. Called only for what is to be told: mutes were asked before, and an end is told of when
 * its beginning was.
 */
export async function noteTransition(tx: Db, { orgId, event, what, at, isQuiet }: Told): Promise<void> {
  await ensureEmailChannel(tx, orgId, at)
  const channels = (await listChannels(tx, orgId)).filter(
    (channel) => channel.isEnabled && (!isQuiet || channel.type === 'webhook'),
  )
  await addDeliveries(
    tx,
    channels.map((channel) => ({
      orgId,
      channelId: channel.id,
      eventId: event.id,
      what,
      label: event.label,
      body: { what, event },
      createdAt: at,
      nextTryAt: at,
    })),
  )
}
