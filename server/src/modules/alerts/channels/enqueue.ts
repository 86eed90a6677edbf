import type { AlertDelivery } from '@shoal/contract'
import type { Db } from '../../../db/database.ts'
import { getOrg } from '../../orgs/index.ts'
import type { EventRow } from '../event-store.ts'
import { ensureEmailChannel, listChannels } from './channel-store.ts'
import { addDeliveries, channelsNotified } from './delivery-store.ts'
import { transitionMessage } from './message.ts'

/** A change that channels are notified of. */
export type TransitionNotice = {
  orgId: number
  event: EventRow
  what: Exclude<AlertDelivery['what'], 'TEST'>
  at: Date
  /** A member stopped or changed the version. Only webhooks are notified, to close the incidents they opened. */
  isQuiet: boolean
}

/**
 * Stores the messages to each channel of the organization in the transaction that opens or ends the alert. Nothing is sent here. The
 * caller checks mutes. Only channels that were notified of the opening are notified of the end.
 */
export async function enqueueTransition(tx: Db, { orgId, event, what, at, isQuiet }: TransitionNotice): Promise<void> {
  await ensureEmailChannel(tx, orgId, at)
  const notified = what === 'ENDED' ? await channelsNotified(tx, event.id) : null
  const channels = (await listChannels(tx, orgId)).filter(
    ({ id, type, isEnabled }) => isEnabled && (!isQuiet || type === 'webhook') && (notified?.includes(id) ?? true),
  )
  const { code, name } = await getOrg(tx, orgId)
  const body = transitionMessage(event, what, { organization: { code, name }, at })
  await addDeliveries(
    tx,
    channels.map(({ id }) => ({
      orgId,
      channelId: id,
      eventId: event.id,
      what,
      label: event.label,
      body,
      createdAt: at,
      nextTryAt: at,
    })),
  )
}
