import { PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import { runText } from '../db/transaction.ts'

/** A task for a worker, run later and at least once. */
export type Job<Data extends object> = {
  name: string
  run: (data: Data) => Promise<void>
  /** Cron expression in UTC. Scheduled jobs run without data. */
  schedule?: string
  retryLimit?: number
}

const defaultRetryLimit = 5

export type Jobs = {
  /** Sends a job as part of the current transaction, so together with the rows it is about, or not at all. */
  send: <Data extends object>(job: Pick<Job<Data>, 'name'>, data: Data) => Promise<void>
  /** Starts to process these jobs. To be called once, by a worker. */
  work: (jobs: Job<never>[]) => Promise<void>
  close: () => Promise<void>
}

/** Opens the durable job queue in our Postgres (pg-boss), and creates `queues`. It serves mails, clean-ups and scheduled work. */
export async function startJobs(
  database: Database,
  log: Logger,
  queues: { name: string; retryLimit?: number }[] = [],
): Promise<Jobs> {
  const boss = new PgBoss({ connectionString: database.url, schema: 'pgboss', max: 3, application_name: 'shoal-jobs' })
  boss.on('error', (error) => log.warn({ err: error }, 'job queue'))
  await boss.start()
  const executeSql = (text: string, values?: unknown[]) => runText(database.db, text, values)
  const known = new Set<string>()
  const ensure = async (name: string, retryLimit: number) => {
    if (known.has(name)) return
    await boss.createQueue(name, { retryLimit, retryBackoff: true, expireInSeconds: 600 })
    known.add(name)
  }
  // Created here, outside of a transaction, so that sending a job does not have to create its queue.
  for (const { name, retryLimit } of queues) await ensure(name, retryLimit ?? defaultRetryLimit)
  return {
    send: async (job, data) => {
      await ensure(job.name, defaultRetryLimit)
      await boss.send(job.name, data, { db: { executeSql } })
    },
    work: async (jobs) => {
      for (const job of jobs) {
        await ensure(job.name, job.retryLimit ?? defaultRetryLimit)
        await boss.work(job.name, { pollingIntervalSeconds: 2 }, async (batch) => {
          for (const item of batch) await job.run(item.data as never)
        })
        if (job.schedule) await boss.schedule(job.name, job.schedule)
      }
    },
    close: () => boss.stop({ graceful: true, timeout: 5_000 }),
  }
}
