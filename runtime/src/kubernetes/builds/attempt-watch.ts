import { setTimeout as delay } from 'node:timers/promises'
import { outOfDisk } from '../../build/build-failures.ts'
import type { BuildPlan } from '../../build/build-image.ts'
import { BuildFailure } from '../../builder.ts'
import { ClusterUnreachable, KubeError } from '../client/kube-error.ts'
import type { AttemptState } from './attempt-state.ts'
import type { BuildProgress } from './build-progress.ts'

/** An attempt that the cluster ended. Another one may succeed. `message`: a sentence without a full stop. */
export class InterruptedAttempt extends Error {
  override name = 'InterruptedAttempt'
}

export type WatchedAttempt = {
  /** Reads the state of the attempt in the cluster. @throws ClusterUnreachable, KubeError */
  read: () => Promise<AttemptState>
  /** True if there is another Job for the same build. */
  hasOther: () => Promise<boolean>
  /** The URL of this worker for the containers. */
  url: string
  plan: BuildPlan
  progress: BuildProgress
  /** When the build must have ended; set when its first attempt has started. */
  deadline: { at: number | null }
  clock?: WatchClock
}

type WatchClock = { now: () => number; wait: (ms: number, signal: AbortSignal) => Promise<void> }

const POLL_MS = 1000
/** Time in which the cluster must start a pod; an autoscaler may have to add a host. */
export const START_LIMIT_MS = 10 * 60_000
/** Time in which a running container must connect. It tries for two minutes and then ends, unless it hangs or its host is lost. */
export const CONNECT_LIMIT_MS = 180_000
/** A container that has sent nothing for this long is lost: it sends an event at least every five seconds. */
export const LOST_AFTER_MS = 120_000
/** The number of polls after the end of a pod during which its last events may still arrive. */
const POLLS_AFTER_END = 3

const realClock: WatchClock = {
  now: () => performance.now(),
  wait: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
}

/** Rejects when the attempt has failed for a reason that its containers cannot report. Resolves when `signal` is aborted. */
export async function watchAttempt(
  { read, hasOther, url, plan: { request, log }, progress, deadline, clock = realClock }: WatchedAttempt,
  signal: AbortSignal,
): Promise<void> {
  const createdAt = clock.now()
  /** When the pod was first seen running, in the time of the clock. */
  let runningSince: number | null = null
  let lastReason: string | null = null
  let pollsAfterEnd = 0
  while (!signal.aborted) {
    await clock.wait(POLL_MS, signal)
    const now = clock.now()
    if (progress.lastDataAt !== null && deadline.at === null) {
      deadline.at = now + request.limits.timeMs
      await request.onStart?.()
    }
    if (deadline.at !== null && now > deadline.at) throw progress.explain({ timedOut: true })
    const state = await read().catch((error: unknown) => {
      if (error instanceof ClusterUnreachable || (error instanceof KubeError && error.status >= 429)) return null
      throw error
    })
    if (signal.aborted || state === null) continue
    if (state.kind === 'deleted') {
      // Otherwise two workers would delete each other's Jobs.
      if (await hasOther().catch(() => false))
        throw new BuildFailure('UNEXPECTED', 'Another worker has started this build.')
      throw new InterruptedAttempt('The Job of the build was deleted in the cluster')
    }
    if (state.kind === 'starting') {
      if (state.reason !== null && state.reason !== lastReason) log.info(`The build waits. ${state.reason}`)
      lastReason = state.reason ?? lastReason
      if (now - createdAt > START_LIMIT_MS)
        throw new BuildFailure(
          'UNEXPECTED',
          `The build could not start within ${START_LIMIT_MS / 60_000} minutes. ${lastReason ?? ''}`.trim(),
        )
    }
    if (state.kind === 'running') {
      runningSince ??= now
      if (progress.lastDataAt === null) {
        if (now - runningSince > CONNECT_LIMIT_MS) throw cannotConnect(url)
      } else if (now - progress.lastDataAt > LOST_AFTER_MS)
        throw new InterruptedAttempt('The host of the build does not respond')
    }
    if (state.kind !== 'ended') continue
    if (state.how === 'evicted') throw new InterruptedAttempt('The host of the build stopped it')
    pollsAfterEnd += 1
    if (pollsAfterEnd < POLLS_AFTER_END) continue
    if (state.how === 'out of memory') throw progress.explain({ outOfMemory: true })
    if (state.how === 'out of disk') throw outOfDisk('The build', request.limits)
    throw progress.lastDataAt === null
      ? cannotConnect(url)
      : new BuildFailure('SOURCE_FILES_BUILD_FAILED', 'The build ended before it sent its result. Deploy again.')
  }
}

const cannotConnect = (url: string) => new InterruptedAttempt(`The build cannot connect to the worker at ${url}`)
