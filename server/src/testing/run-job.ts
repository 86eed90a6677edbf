import { randomUUID } from 'node:crypto'
import type { Job } from '../jobs/jobs.ts'

/** Runs a job without a queue. */
export async function runJob(job: Job<never> | undefined, data: object = {}, id: string = randomUUID()): Promise<void> {
  if (!job) throw new Error('There is no such job')
  await job.run(data as never, { id, signal: new AbortController().signal })
}
