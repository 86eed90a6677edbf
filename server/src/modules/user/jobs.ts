import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import type { Job } from '../../jobs/jobs.ts'
import { deletePlaygroundsOf } from '../orgs/index.ts'
import { deleteUsers, lockUnconfirmedBefore } from './store.ts'

/** Who has not confirmed an email after this long never will. */
const unconfirmedKeptMs = days(30)
const atOnce = 500

export function userJobs(app: App): Job<never>[] {
  const dropUnconfirmed: Job<object> = {
    name: 'user.dropUnconfirmed',
    schedule: '41 * * * *',
    run: () => deleteUnconfirmed(app),
  }
  return [dropUnconfirmed]
}

/** Accounts that were signed up for and never confirmed, by strangers above all. They could do nothing and own nothing. */
export async function deleteUnconfirmed(app: App): Promise<void> {
  const before = new Date(app.clock.now().getTime() - unconfirmedKeptMs)
  await app.db.transaction(async (tx) => {
    const ids = await lockUnconfirmedBefore(tx, before, atOnce)
    await deletePlaygroundsOf(tx, ids)
    await deleteUsers(tx, ids)
  })
}
