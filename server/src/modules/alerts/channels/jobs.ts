import type { App } from '../../../app.ts'
import { days } from '../../../clock.ts'
import type { Job } from '../../../jobs/jobs.ts'
import { deleteDeliveriesBefore } from './delivery-store.ts'

const keptMs = days(30)

export function channelJobs(app: App): Job<never>[] {
  return [
    {
      name: 'alerts.dropOldDeliveries',
      schedule: '41 3 * * *',
      run: () => deleteDeliveriesBefore(app.db, new Date(app.clock.now().getTime() - keptMs)),
    },
  ]
}
