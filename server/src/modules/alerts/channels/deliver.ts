import type { App } from '../../../app.ts'
import { minutes } from '../../../clock.ts'
import type { Db } from '../../../db/database.ts'
import { lockChannel, type ChannelRow } from './channel-store.ts'
import {
  changePending,
  countDeliveriesSince,
  failPending,
  failRecoveries,
  listPending,
  markTrying,
  type DeliveryRow,
} from './delivery-store.ts'
import { Message } from './message.ts'
import { dueDeliveries, nextBatch, nextTry, stormMs } from './delivery-schedule.ts'
import { send, type SendResult, type SendOptions } from './send.ts'

/** Longer than any attempt takes. If a worker dies during an attempt, the delivery is sent again after this time. */
const tryMs = minutes(2)

export type ClaimedDeliveries = { channel: ChannelRow; deliveries: DeliveryRow[] }

export const channelIsOff = 'The channel was turned off.'

/** Claims the deliveries to send to the channel next, so that no other worker sends them; null if none are due. */
export async function claimNext(app: Pick<App, 'db' | 'clock'>, channelId: number): Promise<ClaimedDeliveries | null> {
  return await app.db.transaction(async (tx) => {
    const channel = await lockChannel(tx, channelId)
    if (!channel) return null
    if (!channel.isEnabled) {
      await failPending(tx, channelId, channelIsOff)
      return null
    }
    const now = app.clock.now()
    const recent = await countDeliveriesSince(tx, channelId, new Date(now.getTime() - stormMs))
    const next = nextBatch(channel.type, dueDeliveries(await listPending(tx, channelId), now), recent, now)
    if ('send' in next) {
      const deliveries = await beginAttempt(tx, next.send, now)
      return deliveries.length > 0 ? { channel, deliveries } : null
    }
    const ids = next.hold.map(({ id }) => id)
    await changePending(tx, ids, { nextTryAt: next.until })
    return null
  })
}

async function beginAttempt(tx: Db, rows: DeliveryRow[], now: Date): Promise<DeliveryRow[]> {
  const ids = rows.map(({ id }) => id)
  const taken = ids.length > 0 ? await markTrying(tx, ids, now, new Date(now.getTime() + tryMs)) : []
  return taken.toSorted((a, b) => a.id - b.id)
}

/** When an attempt that begins now counts as lost. */
export const attemptDeadline = (now: Date): Date => new Date(now.getTime() + tryMs)

/** Sends claimed deliveries and records the result. @throws when `signal` aborts; the deliveries are then sent again later */
export async function deliver(
  app: App,
  sendOptions: SendOptions,
  { channel, deliveries }: ClaimedDeliveries,
  signal: AbortSignal,
): Promise<void> {
  const outcome = await attemptSend(app, sendOptions, { channel, deliveries }, signal)
  const ids = deliveries.map(({ id }) => id)
  const { httpStatus } = outcome
  if (outcome.isAccepted) {
    await changePending(app.db, ids, { status: 'DELIVERED', httpStatus, error: null, nextTryAt: null })
    return
  }
  const { error, isFinal, retryAfterMs } = outcome
  const tries = Math.max(...deliveries.map((delivery) => delivery.tries))
  const isTest = deliveries.some(({ what }) => what === 'TEST')
  const nextTryAt = isFinal || isTest ? null : nextTry(tries, app.clock.now(), retryAfterMs)
  if (nextTryAt) {
    await changePending(app.db, ids, { httpStatus, error, nextTryAt })
    return
  }
  await app.db.transaction(async (tx) => {
    const failed = await changePending(tx, ids, { status: 'FAILED', httpStatus, error, nextTryAt })
    const undelivered = failed.flatMap(({ what, eventId }) => (what === 'OPENED' && eventId !== null ? [eventId] : []))
    if (undelivered.length > 0)
      await failRecoveries(tx, channel.id, undelivered, 'The alert itself could not be delivered.')
  })
}

/** Returns an internal error as a failed attempt, so that its retries are limited too. */
async function attemptSend(
  app: App,
  sendOptions: SendOptions,
  { channel, deliveries }: ClaimedDeliveries,
  signal: AbortSignal,
): Promise<SendResult> {
  try {
    const [first, ...others] = deliveries.map(({ body }) => Message.parse(body))
    if (!first) throw new Error('Nothing was taken')
    const tryId = deliveries
      .map(({ id }) => id)
      .slice(0, 2)
      .join('-')
    return await send(app, sendOptions, channel, [first, ...others], { tryId, signal })
  } catch (error) {
    signal.throwIfAborted()
    app.log.error({ err: error, channelId: channel.id }, 'an alert could not be sent')
    return {
      isAccepted: false,
      httpStatus: null,
      error: 'Something failed on our side.',
      isFinal: false,
      retryAfterMs: null,
    }
  }
}
