import { randomUUID } from 'node:crypto'
import type { App } from '../../../app.ts'
import { minutes } from '../../../clock.ts'
import type { Db } from '../../../db/database.ts'
import { lockChannel, type ChannelRow } from './channel-store.ts'
import { sendDeliveryJob } from './delivery-queue.ts'
import {
  changePending,
  countDeliveriesSince,
  failPending,
  failRecoveries,
  listPending,
  recordAttempt,
  listNextOfEvents,
  type DeliveryRow,
} from './delivery-store.ts'
import { Message } from './message.ts'
import { nextBatch, nextAttemptAt, stormWindowMs } from './delivery-schedule.ts'
import { send, type SendResult, type SendOptions } from './send.ts'

/** The maximum duration of an attempt. If a worker dies during an attempt, its job is retried after about this time. */
const maxAttemptMs = minutes(2)

/** Deliveries that one job sends; all of them have this `jobId`. */
export type ClaimedDeliveries = { channel: ChannelRow; jobId: string; deliveries: DeliveryRow[] }

type DeliveryApp = Pick<App, 'db' | 'jobs' | 'clock'>

/** The error of deliveries that were pending when their channel was turned off. */
export const channelOffMessage = 'The channel was turned off.'

/** Returns when an attempt that begins now is considered lost. */
export const attemptDeadline = (now: Date): Date => new Date(now.getTime() + maxAttemptMs)

/**
 * Claims and returns the deliveries that the job must send; returns null if there are none. Deliveries that must wait, for a digest
 * or for an earlier message about the same alert, get a new job.
 */
export async function claimDeliveries(
  app: DeliveryApp,
  channelId: number,
  jobId: string,
): Promise<ClaimedDeliveries | null> {
  return await app.db.transaction(async (tx) => {
    const channel = await lockChannel(tx, channelId)
    if (!channel) return null
    if (!channel.isEnabled) {
      await failPending(tx, channelId, channelOffMessage)
      return null
    }
    const now = app.clock.now()
    const recent = await countDeliveriesSince(tx, channelId, new Date(now.getTime() - stormWindowMs))
    const pending = await listPending(tx, channelId, jobId)
    const { send: toSend, hold, until } = nextBatch(channel.type, pending, { jobId, recent, now })
    await postpone(app, tx, { channel, jobId, ids: idsOf(hold) }, { nextTryAt: until })
    const deliveries = await recordAttempt(tx, idsOf(toSend), { jobId, now, until: attemptDeadline(now) })
    return deliveries.length > 0 ? { channel, jobId, deliveries } : null
  })
}

const idsOf = (rows: DeliveryRow[]): number[] => rows.map(({ id }) => id)

/**
 * Sends claimed deliveries and records the result.
 * @throws when `signal` aborts; a later job then sends the deliveries again
 */
export async function deliver(
  app: App,
  sendOptions: SendOptions,
  claimed: ClaimedDeliveries,
  signal: AbortSignal,
): Promise<void> {
  const result = await attemptSend(app, sendOptions, claimed, signal)
  await app.db.transaction(async (tx) => {
    if (await lockChannel(tx, claimed.channel.id)) await recordResult(app, tx, claimed, result)
  })
}

/**
 * Records the result in the transaction `tx` and queues the next jobs. Ignores the failure of an attempt whose worker was suspended
 * for so long that another worker retried the job.
 */
async function recordResult(
  app: DeliveryApp,
  tx: Db,
  { channel, jobId, deliveries }: ClaimedDeliveries,
  result: SendResult,
): Promise<void> {
  const ids = idsOf(deliveries)
  const { httpStatus } = result
  if (result.isAccepted) {
    const change = { status: 'DELIVERED', httpStatus, error: null, nextTryAt: null } as const
    await queueWaiting(app, tx, channel, await changePending(tx, ids, change))
    return
  }
  const { error, isFinal, retryAfterMs } = result
  const tries = Math.max(...deliveries.map((delivery) => delivery.tries))
  const isTest = deliveries.some(({ what }) => what === 'TEST')
  const nextTryAt = isFinal || isTest ? null : nextAttemptAt(tries, app.clock.now(), retryAfterMs)
  if (nextTryAt) {
    await postpone(app, tx, { channel, jobId, ids }, { httpStatus, error, nextTryAt })
    return
  }
  const failed = await changePending(tx, ids, { status: 'FAILED', httpStatus, error, nextTryAt }, jobId)
  const undelivered = failed.flatMap(({ what, eventId }) => (what === 'OPENED' && eventId !== null ? [eventId] : []))
  if (undelivered.length > 0)
    await failRecoveries(tx, channel.id, undelivered, 'The alert itself could not be delivered.')
  await queueWaiting(app, tx, channel, failed)
}

type DeliveryChange = Pick<DeliveryRow, 'nextTryAt'> & Partial<Pick<DeliveryRow, 'httpStatus' | 'error'>>

/** Replaces the job of these deliveries with a new one that runs at `nextTryAt`. */
async function postpone(
  app: DeliveryApp,
  tx: Db,
  { channel, jobId, ids }: { channel: ChannelRow; jobId: string; ids: number[] },
  change: DeliveryChange & { nextTryAt: Date },
): Promise<void> {
  if (ids.length === 0) return
  const next = { orgId: channel.orgId, channelId: channel.id, jobId: randomUUID() }
  const postponed = await changePending(tx, ids, { ...change, jobId: next.jobId }, jobId)
  if (postponed.length === 0) return
  const delayMs = change.nextTryAt.getTime() - app.clock.now().getTime()
  await sendDeliveryJob(app, next, { delayMs, isRetry: postponed.some(({ tries }) => tries > 0) })
}

/** Queues the messages that waited until the `settled` deliveries had succeeded or failed without a retry. */
async function queueWaiting(app: DeliveryApp, tx: Db, channel: ChannelRow, settled: DeliveryRow[]): Promise<void> {
  const eventIds = settled.flatMap(({ eventId }) => eventId ?? [])
  for (const { id } of await listNextOfEvents(tx, channel.id, eventIds)) {
    const jobId = randomUUID()
    await changePending(tx, [id], { jobId })
    await sendDeliveryJob(app, { orgId: channel.orgId, channelId: channel.id, jobId })
  }
}

/** Sends the deliveries. Converts an internal error to a failed attempt, so that its retries are limited too. */
async function attemptSend(
  app: App,
  sendOptions: SendOptions,
  { channel, deliveries }: ClaimedDeliveries,
  signal: AbortSignal,
): Promise<SendResult> {
  try {
    const [first, ...others] = deliveries.map(({ body }) => Message.parse(body))
    if (!first) throw new Error('No deliveries were claimed')
    const mailId = deliveries
      .map(({ id }) => id)
      .slice(0, 2)
      .join('-')
    return await send(app, sendOptions, channel, [first, ...others], { mailId, signal })
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
