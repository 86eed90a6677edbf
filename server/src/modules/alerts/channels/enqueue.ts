import type { AlertDelivery } from '@shoal/contract'
import { randomUUID } from 'node:crypto'
import type { App } from '../../../app.ts'
import type { Db } from '../../../db/database.ts'
import { getOrg } from '../../orgs/index.ts'
import type { EventRow } from '../event-store.ts'
import { ensureEmailChannel, listChannels } from './channel-store.ts'
import { sendDeliveryJob } from './delivery-queue.ts'
import { addDeliveries, listNotifiedChannelIds } from './delivery-store.ts'
import { transitionMessage } from './message.ts'

/** A change of an alert that channels are notified of. */
export type TransitionNotice = {
  orgId: number
  event: EventRow
  what: Exclude<AlertDelivery['what'], 'TEST'>
  at: Date
  /** True if a member stopped or changed the version. Only webhooks are notified then, so that receivers can close incidents. */
  isQuiet: boolean
}

/**
 * Stores a message for each channel of the organization, and the jobs that send them, in the transaction `tx` that opens or ends
 * the alert. The caller must check mutes. Only channels that were notified of the opening are notified of the end.
 */
export async function enqueueTransition(
  app: Pick<App, 'jobs' | 'db'>,
  tx: Db,
  { orgId, event, what, at, isQuiet }: TransitionNotice,
): Promise<void> {
  await ensureEmailChannel(tx, orgId, at)
  const notified = what === 'ENDED' ? await listNotifiedChannelIds(tx, event.id) : null
  const channels = await listChannels(tx, orgId)
  const receivers = channels.filter(
    ({ id, type, isEnabled }) => isEnabled && (!isQuiet || type === 'webhook') && (notified?.includes(id) ?? true),
  )
  const { code, name } = await getOrg(tx, orgId)
  const body = transitionMessage(event, what, { organization: { code, name }, at })
  const deliveries = await addDeliveries(
    tx,
    receivers.map(({ id }) => ({
      orgId,
      channelId: id,
      eventId: event.id,
      what,
      label: event.label,
      body,
      createdAt: at,
      nextTryAt: at,
      jobId: randomUUID(),
    })),
  )
  for (const delivery of deliveries) await sendDeliveryJob(app, delivery, { channels })
}
