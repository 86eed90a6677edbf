import { PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import type { Database } from '../db/database.ts'
import { executeSqlText } from '../db/transaction.ts'
import { dispatch, type Dispatcher } from './dispatcher.ts'

/** A queue in Postgres. Its settings apply when it is created; later changes do not. */
export type Queue = {
  name: string
  /** Retries of a job that failed or whose worker stopped. Default: 5. */
  retryLimit?: number
  /** Minimum delay before the first retry in seconds. It doubles with each retry, up to 15 minutes, and varies by a factor of two. Default: 1. */
  retryDelay?: number
  /** Seconds after which a running job counts as failed. Default: 600. */
  expireIn?: number
}

/** A task that a worker runs later, at least once. */
export type Job<Data extends object> = Queue & {
  run: (data: Data, context: JobContext) => Promise<void>
  /** Cron expression in UTC. Scheduled jobs run without data. */
  schedule?: string
  /** How many of these jobs a worker runs concurrently; only one of each group at a time. Default: 1. */
  concurrency?: number
}

export type JobContext = {
  /** The id of the job, which is the same for all attempts. */
  id: string
  /** Aborts when the worker shuts down, or when the job has expired and will be retried. */
  signal: AbortSignal
}

export type JobOptions = {
  /** A UUID. Default: random. */
  id?: string
  delayMs?: number
  /** Only one job of each group runs at a time. Default: no group. */
  group?: string
  /** Runs the job after all due jobs that do not have low priority. */
  isLowPriority?: boolean
}

export type Jobs = {
  /** Sends a job as part of the current transaction: together with the rows that it refers to, or not at all. */
  send: (queue: Queue, data: object, options?: JobOptions) => Promise<void>
  /** Starts to process these jobs. Must be called only once, by a worker. */
  work: (jobs: Job<never>[]) => Promise<void>
  /** Aborts running jobs; another worker retries those that do not end within five seconds. */
  close: () => Promise<void>
}

/** The interval, in seconds, at which expired jobs are detected. */
const supervisionIntervalSeconds = 30
const maxRetryDelaySeconds = 15 * 60
/** How long a job is kept until a worker starts it, in seconds. The default of pg-boss is two weeks. */
const retentionSeconds = 365 * 86_400

/** Opens the durable job queues in the control plane's Postgres (pg-boss), and creates `queues`. */
export async function startJobs(database: Database, log: Logger, queues: Queue[] = []): Promise<Jobs> {
  const boss = new PgBoss({
    connectionString: database.url,
    schema: 'pgboss',
    max: 3,
    application_name: 'shoal-jobs',
    superviseIntervalSeconds: supervisionIntervalSeconds,
    monitorIntervalSeconds: supervisionIntervalSeconds,
  })
  boss.on('error', (error) => log.warn({ err: error }, 'job queue'))
  await boss.start()
  const executeSql = (text: string, values?: unknown[]) => executeSqlText(database.db, text, values)
  const createdQueues = new Set<string>()
  const ensureQueue = async ({ name, retryLimit = 5, retryDelay = 1, expireIn = 600 }: Queue) => {
    if (createdQueues.has(name)) return
    await boss.createQueue(name, {
      retryLimit,
      retryDelay,
      retryBackoff: true,
      retryDelayMax: maxRetryDelaySeconds,
      expireInSeconds: expireIn,
      retentionSeconds: retentionSeconds,
    })
    createdQueues.add(name)
  }
  // Queues are created here, outside a transaction, so that sending a job does not have to create its queue.
  for (const queue of queues) await ensureQueue(queue)
  const closing = new AbortController()
  const dispatchers: Dispatcher[] = []
  return {
    send: async (queue, data, { id, delayMs = 0, group, isLowPriority = false } = {}) => {
      await ensureQueue(queue)
      await boss.send(queue.name, data, {
        db: { executeSql },
        ...(id === undefined ? {} : { id }),
        ...(delayMs > 0 ? { startAfter: delayMs / 1000 } : {}),
        ...(group === undefined ? {} : { group: { id: group } }),
        priority: isLowPriority ? -1 : 0,
      })
    },
    work: async (jobs) => {
      for (const job of jobs) {
        await ensureQueue(job)
        const { concurrency = 1 } = job
        if (concurrency > 1) dispatchers.push(dispatch(boss, { ...job, concurrency }, log, closing.signal))
        else
          await boss.work(job.name, { pollingIntervalSeconds: 2 }, async (batch) => {
            for (const { id, data, signal } of batch) await job.run(data as never, { id, signal })
          })
        if (job.schedule) await boss.schedule(job.name, job.schedule)
      }
    },
    close: async () => {
      closing.abort()
      await Promise.all(dispatchers.map(({ ended }) => ended))
      await boss.stop({ graceful: true, timeout: 5_000 })
    },
  }
}
