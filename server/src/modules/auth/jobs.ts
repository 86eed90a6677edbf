import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import type { Job } from '../../jobs/jobs.ts'
import { deleteAddressesSeenBefore, deleteExpiredEmailLinks } from './account-store.ts'
import { sendConfirmation, confirmationQueue } from './confirm-email.ts'
import { deleteExpiredCounters } from './rate-store.ts'
import { sendRestoreLink, restoreLinkQueue } from './restore.ts'
import { deleteExpiredSessions } from './store.ts'

const knownAddressRetentionMs = days(90)

export function authJobs(app: App): Job<never>[] {
  const confirmationJob: Job<{ userId: number }> = {
    ...confirmationQueue,
    run: ({ userId }) => sendConfirmation(app, userId),
  }
  const restoreLinkJob: Job<{ email: string }> = {
    ...restoreLinkQueue,
    run: ({ email }) => sendRestoreLink(app, email),
  }
  const deleteOldJob: Job<object> = {
    name: 'auth.dropOld',
    schedule: '*/20 * * * *',
    run: () => deleteExpiredRows(app),
  }
  return [confirmationJob, restoreLinkJob, deleteOldJob]
}

async function deleteExpiredRows(app: App): Promise<void> {
  const now = app.clock.now()
  await deleteExpiredSessions(app.db, now)
  await deleteExpiredEmailLinks(app.db, now)
  await deleteExpiredCounters(app.db, now)
  await deleteAddressesSeenBefore(app.db, new Date(now.getTime() - knownAddressRetentionMs))
}
