import { PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import { runText } from '../db/transaction.ts'

/** Something to be done later, at least once, by whichever worker is free. */
export type Job<Data extends object> = {
  name: string
  run: (data: Data) => Promise<void>
  /** Cron expression in UTC; such a job is started without data. */
  schedule?: string
  retryLimit?: number
}

const usualRetries = 5

export type Jobs = {
  /** Part of the transaction it is called in: a job is sent with the row it is about, or neither is there. */
  send: <Data extends object>(job: Pick<Job<Data>, 'name'>, data: Data) => Promise<void>
  /** Begins to work on these. Called once by a worker. */
  work: (jobs: Job<never>[]) => Promise<void>
  close: () => Promise<void>
}

/** The durable queue on our own Postgres (pg-boss): mails, clean-ups, whatever has a schedule. */
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
  // Now, on its own connection: sending must not wait for anything but the caller's transaction.
  for (const { name, retryLimit } of queues) await ensure(name, retryLimit ?? usualRetries)
  return {
    send: async (job, data) => {
      await ensure(job.name, usualRetries)
      await boss.send(job.name, data, { db: { executeSql } })
    },
    work: async (jobs) => {
      for (const job of jobs) {
        await ensure(job.name, job.retryLimit ?? usualRetries)
        await boss.work(job.name, { pollingIntervalSeconds: 2 }, async (batch) => {
          for (const item of batch) await job.run(item.data as never)
        })
        if (job.schedule) await boss.schedule(job.name, job.schedule)
      }
    },
    close: () => boss.stop({ graceful: true, timeout: 5_000 }),
  }
}
