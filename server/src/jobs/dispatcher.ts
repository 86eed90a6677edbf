import type { PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { pause } from '../db/every.ts'
import type { Job } from './jobs.ts'

const pollMs = 1_000

export type Dispatcher = {
  /** Resolves after the signal has aborted and all running jobs have ended. */
  ended: Promise<void>
}

/**
 * Runs several jobs of a queue concurrently, but only one of each group, so that a slow group does not delay the others. Polls every
 * second, and immediately after a job has ended. Does not use the workers of pg-boss, since each of them would poll separately.
 */
export function dispatch(
  boss: PgBoss,
  job: Job<never> & { concurrency: number },
  log: Logger,
  closing: AbortSignal,
): Dispatcher {
  /** Running jobs by group; jobs without a group by id. */
  const running = new Map<string, Promise<void>>()

  async function runOne(item: Awaited<ReturnType<typeof boss.fetch>>[number]): Promise<void> {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(item.expireInSeconds * 1000)])
    try {
      await job.run(item.data as never, { id: item.id, signal })
      await boss.complete(job.name, item)
    } catch (error) {
      if (!closing.aborted) log.error({ err: error, job: job.name }, 'a job failed')
      // If the database is unavailable, the job is retried after it expires.
      await boss.fail(job.name, item).catch(() => undefined)
    }
  }

  /** Starts jobs until `concurrency` are running or none is due. */
  async function startDueJobs(): Promise<void> {
    while (running.size < job.concurrency && !closing.aborted) {
      const [item] = await boss.fetch(job.name, { ignoreGroups: [...running.keys()] })
      if (!item) return
      const key = item.groupId ?? item.id
      running.set(
        key,
        runOne(item).finally(() => running.delete(key)),
      )
    }
  }

  const ended = (async () => {
    while (!closing.aborted) {
      await startDueJobs().catch((error: unknown) => log.warn({ err: error, job: job.name }, 'cannot fetch jobs'))
      const pollTimer = new AbortController()
      await Promise.race([pause(pollMs, AbortSignal.any([closing, pollTimer.signal])), ...running.values()])
      pollTimer.abort()
    }
    await Promise.all(running.values())
  })()
  return { ended }
}
