import type { App } from '../../../app.ts'
import { days } from '../../../clock.ts'
import type { Job } from '../../../jobs/jobs.ts'
import { claimDeliveries, deliver } from './deliver.ts'
import { deliverQueue, sendDeliveryJob, type DeliveryJobData } from './delivery-queue.ts'
import { assignJobs, deleteDeliveriesBefore } from './delivery-store.ts'
import { sendOptionsOf, type SendOptions } from './send.ts'

/** How long deliveries are kept, unless their alert is still open. */
const retentionMs = days(30)
/** Maximum number of channels served concurrently, so that a slow one does not delay the others. */
const maxConcurrent = 32

/** Returns the job that sends deliveries, and the daily job that deletes old ones. */
export function channelJobs(app: App, options: SendOptions = sendOptionsOf(app)): Job<never>[] {
  const deliverJob: Job<DeliveryJobData> = {
    ...deliverQueue,
    concurrency: maxConcurrent,
    run: async ({ channelId }, { id, signal }) => {
      const claimed = await claimDeliveries(app, channelId, id)
      if (claimed) await deliver(app, options, claimed, signal)
    },
  }
  const deleteOldJob: Job<object> = {
    name: 'alerts.dropOldDeliveries',
    schedule: '41 3 * * *',
    run: () => deleteDeliveriesBefore(app.db, new Date(app.clock.now().getTime() - retentionMs)),
  }
  return [deliverJob, deleteOldJob]
}

/**
 * Queues jobs for pending deliveries from an earlier release of Shoal, which had no delivery jobs. Returns the number
 * of deliveries.
 */
export async function queueDeliveriesWithoutJob(app: Pick<App, 'db' | 'jobs' | 'clock'>): Promise<number> {
  for (let queued = 0; ;) {
    const added = await app.db.transaction(async (tx) => {
      const rows = await assignJobs(tx)
      const now = app.clock.now().getTime()
      for (const row of rows)
        await sendDeliveryJob(app, row, { delayMs: (row.nextTryAt?.getTime() ?? now) - now, isRetry: row.tries > 0 })
      return rows.length
    })
    if (added === 0) return queued
    queued += added
  }
}
