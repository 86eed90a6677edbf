import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import type { Job } from '../../jobs/jobs.ts'
import { deletePlaygroundsOf } from '../orgs/index.ts'
import { deleteUsers, lockUnconfirmedBefore } from './store.ts'

/** Accounts without a confirmed email are deleted after this time. */
const unconfirmedKeptMs = days(30)
const batchSize = 500

export function userJobs(app: App): Job<never>[] {
  const dropUnconfirmed: Job<object> = {
    name: 'user.dropUnconfirmed',
    schedule: '41 * * * *',
    run: () => deleteUnconfirmed(app),
  }
  return [dropUnconfirmed]
}

/** Deletes accounts that were never confirmed. They could not do or own anything. */
export async function deleteUnconfirmed(app: App): Promise<void> {
  const before = new Date(app.clock.now().getTime() - unconfirmedKeptMs)
  await app.db.transaction(async (tx) => {
    const ids = await lockUnconfirmedBefore(tx, before, batchSize)
    await deletePlaygroundsOf(tx, ids)
    await deleteUsers(tx, ids)
  })
}
