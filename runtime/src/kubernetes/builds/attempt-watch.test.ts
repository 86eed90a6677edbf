import { describe, expect, test } from 'vitest'
import type { BuildPlan } from '../../build/build-image.ts'
import { BuildFailure } from '../../builder.ts'
import { ClusterUnreachable } from '../client/kube-error.ts'
import type { AttemptState } from './attempt-state.ts'
import { CONNECT_LIMIT_MS, InterruptedAttempt, LOST_AFTER_MS, START_LIMIT_MS, watchAttempt } from './attempt-watch.ts'
import { BuildProgress } from './build-progress.ts'

const MINUTE_MS = 60_000
const url = 'http://10.0.0.1:4320'
const timeLimitMs = 30 * MINUTE_MS

/** Watches an attempt whose state is `stateAt(ms since its creation)`; a thrown error is that of the request. Its containers send data until `lastDataAt`. */
async function watch(
  stateAt: (ms: number) => AttemptState,
  { lastDataAt = null as number | null, hasOther = false } = {},
): Promise<{ error: Error; ms: number; lines: string[] }> {
  let ms = 0
  const lines: string[] = []
  const plan = {
    request: { limits: { timeMs: timeLimitMs, memoryBytes: 2 ** 30, diskBytes: 2 ** 30 } },
    log: { info: (line: string) => lines.push(line) },
    manager: 'npm',
  } as unknown as BuildPlan
  const progress = new BuildProgress(plan, [], () => undefined)
  const ending = new AbortController()
  const clock = {
    now: () => ms,
    wait: async (waitMs: number) => {
      ms += waitMs
      if (lastDataAt !== null) progress.lastDataAt = Math.min(ms, lastDataAt)
      // Without this, a watch that never ends would hang the test.
      if (ms > 2 * 60 * MINUTE_MS) ending.abort()
    },
  }
  const watched = {
    read: async () => stateAt(ms),
    hasOther: async () => hasOther,
    url,
    plan,
    progress,
    deadline: { at: null },
    clock,
  }
  const error = await watchAttempt(watched, ending.signal).then(
    () => new Error('The watch did not end within two hours'),
    (reason: Error) => reason,
  )
  return { error, ms, lines }
}

const running: AttemptState = { kind: 'running' }
const starting = (reason: string | null): AttemptState => ({ kind: 'starting', reason })

describe('an attempt', () => {
  test('starts again if its pod runs, but does not connect for three minutes', async () => {
    const { error, ms } = await watch((at) => (at < 5 * MINUTE_MS ? starting(null) : running))
    expect(error).toEqual(new InterruptedAttempt(`The build cannot connect to the worker at ${url}`))
    expect(ms - 5 * MINUTE_MS).toBeGreaterThan(CONNECT_LIMIT_MS)
    expect(ms - 5 * MINUTE_MS).toBeLessThan(CONNECT_LIMIT_MS + 10_000)
  })

  test('starts again if its pod ends before it has connected', async () => {
    const { error, ms } = await watch((at) => (at < 2 * MINUTE_MS ? running : { kind: 'ended', how: 'exited' }))
    expect(error).toEqual(new InterruptedAttempt(`The build cannot connect to the worker at ${url}`))
    expect(ms).toBeLessThan(2 * MINUTE_MS + 10_000)
  })

  test('starts again if its pod sends nothing for two minutes', async () => {
    const { error, ms } = await watch(() => running, { lastDataAt: 10 * MINUTE_MS })
    expect(error).toEqual(new InterruptedAttempt('The host of the build does not respond'))
    expect(ms).toBeGreaterThan(10 * MINUTE_MS + LOST_AFTER_MS)
    expect(ms).toBeLessThan(10 * MINUTE_MS + LOST_AFTER_MS + 10_000)
  })

  test('fails with the reason of the cluster if its pod does not start within ten minutes', async () => {
    const { error, ms, lines } = await watch(() => starting('No host has enough free resources'))
    expect(error).toBeInstanceOf(BuildFailure)
    expect(error.message).toBe('The build could not start within 10 minutes. No host has enough free resources')
    expect(ms).toBeLessThan(START_LIMIT_MS + 10_000)
    expect(lines).toEqual(['The build waits. No host has enough free resources'])
  })

  test('fails at the time limit of the build, which begins when the pod connects', async () => {
    const { error, ms } = await watch(() => running, { lastDataAt: Infinity })
    expect(error).toBeInstanceOf(BuildFailure)
    expect(ms).toBeGreaterThan(timeLimitMs)
    expect(ms).toBeLessThan(timeLimitMs + 10_000)
  })

  test('continues while the API server does not respond, and is abandoned if another worker has started the build', async () => {
    const stateAt = (at: number): AttemptState => {
      if (at < 15 * MINUTE_MS) throw new ClusterUnreachable('no response')
      return { kind: 'deleted' }
    }
    const { error, ms } = await watch(stateAt, { hasOther: true })
    expect(error.message).toBe('Another worker has started this build.')
    expect(ms).toBeGreaterThanOrEqual(15 * MINUTE_MS)
    const deleted = await watch(stateAt)
    expect(deleted.error).toEqual(new InterruptedAttempt('The Job of the build was deleted in the cluster'))
  })
})
