import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import type { Job } from '../../jobs/jobs.ts'
import { deleteAddressesSeenBefore, deleteExpiredEmailLinks } from './account-store.ts'
import { mailConfirmation, sendConfirmation } from './confirm-email.ts'
import { deleteEndedCounters } from './rate-store.ts'
import { mailRestoreLink, sendRestoreLink } from './restore.ts'
import { deleteExpiredSessions } from './store.ts'

const addressKnownMs = days(90)

export function authJobs(app: App): Job<never>[] {
  const confirmation: Job<{ userId: number }> = {
    ...sendConfirmation,
    run: ({ userId }) => mailConfirmation(app, userId),
  }
  const restoreLink: Job<{ email: string }> = { ...sendRestoreLink, run: ({ email }) => mailRestoreLink(app, email) }
  const dropOld: Job<object> = { name: 'auth.dropOld', schedule: '*/20 * * * *', run: () => deleteOld(app) }
  return [confirmation, restoreLink, dropOld]
}

async function deleteOld(app: App): Promise<void> {
  const now = app.clock.now()
  await deleteExpiredSessions(app.db, now)
  await deleteExpiredEmailLinks(app.db, now)
  await deleteEndedCounters(app.db, now)
  await deleteAddressesSeenBefore(app.db, new Date(now.getTime() - addressKnownMs))
}
