import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import type { Job } from '../../jobs/jobs.ts'
import { removeUsageBefore } from './store.ts'

/** Receipts can be asked for a year back, and a month more. */
const keptDays = 400

export const rpcJobs = (app: App): Job<object>[] => [
  {
    name: 'remove-old-rpc-usage',
    schedule: '20 3 * * *',
    run: () => removeUsageBefore(app.db, new Date(app.clock.now().getTime() - days(keptDays))),
  },
]
