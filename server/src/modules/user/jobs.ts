import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import type { Job } from '../../jobs/jobs.ts'
import { deleteUnconfirmedAccounts } from '../auth/index.ts'
import { deletePlaygroundsOf } from '../orgs/index.ts'

/** Accounts without a confirmed email are deleted after this time. */
const unconfirmedRetentionMs = days(30)
const batchSize = 500

export function userJobs(app: App): Job<never>[] {
  const deleteUnconfirmedJob: Job<object> = {
    name: 'user.dropUnconfirmed',
    schedule: '41 * * * *',
    run: () => deleteUnconfirmed(app),
  }
  return [deleteUnconfirmedJob]
}

/** Deletes a batch of accounts whose email was not confirmed in time, with their playgrounds. */
export async function deleteUnconfirmed(app: App): Promise<void> {
  const before = new Date(app.clock.now().getTime() - unconfirmedRetentionMs)
  await app.db.transaction((tx) =>
    deleteUnconfirmedAccounts(tx, { before, limit: batchSize }, (ids) => deletePlaygroundsOf(tx, ids)),
  )
}
