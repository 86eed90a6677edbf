import type { App } from '../../../app.ts'
import type { Queue } from '../../../jobs/jobs.ts'
import { listChannels } from './channel-store.ts'
import type { DeliveryRow } from './delivery-store.ts'

/**
 * Each pending delivery has the id of the job that sends it; a digest is one job for several deliveries. A job without pending deliveries
 * does nothing. When a worker dies, its job expires and another worker sends the deliveries again. `delivery-schedule.ts` determines the
 * delays between attempts; each attempt is a new job.
 */
export const deliverQueue: Queue = { name: 'alerts.deliver', retryLimit: 1_000, retryDelay: 30, expireIn: 60 }

/** Maximum number of channels of one organization that a worker serves concurrently, so that its receivers do not delay other organizations. */
const maxConcurrentPerOrg = 4

/** The channel whose deliveries the job sends. */
export type DeliveryJobData = { channelId: number }

/**
 * Queues the job of a delivery, in the transaction that assigns it. Retries have a lower priority than new messages. `channels`: all channels of
 * the organization, if the caller has read them.
 */
export async function sendDeliveryJob(
  { jobs, db }: Pick<App, 'jobs' | 'db'>,
  { jobId, orgId, channelId }: Pick<DeliveryRow, 'jobId' | 'orgId' | 'channelId'>,
  { delayMs = 0, isRetry = false, channels }: { delayMs?: number; isRetry?: boolean; channels?: { id: number }[] } = {},
): Promise<void> {
  if (jobId === null) throw new Error('The delivery has no job')
  const data: DeliveryJobData = { channelId }
  const position = (channels ?? (await listChannels(db, orgId))).findIndex(({ id }) => id === channelId)
  const group = `${orgId}:${position % maxConcurrentPerOrg}`
  await jobs.send(deliverQueue, data, { id: jobId, delayMs, group, isLowPriority: isRetry })
}
