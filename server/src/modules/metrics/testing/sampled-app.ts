import { createSimRuntime, ManualClock, type SimRuntime } from '@shoal/runtime'
import type { PoolClient } from 'pg'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { readContainers } from '../../observing/containers/observe-containers.ts'
import { observeProcessors } from '../../observing/probing/observe-processors.ts'
import { loadObservationCache } from '../../observing/observation-cache.ts'
import { openSampler, type Sampler } from '../sampling/sampler.ts'

/** A server with simulated versions, and the worker that samples them. */
export type SampledApp = {
  t: TestApp
  clock: ManualClock
  runtime: SimRuntime
  org: TestOrg
  client: PoolClient
  /** Advances the clock, and records observations and samples every 15 seconds like a worker. */
  advance: (ms: number) => Promise<void>
  /** Advances the clock without a worker. */
  advanceWithoutWorker: (ms: number) => void
  /** Replaces the worker with another one. */
  replaceWorker: () => Promise<void>
  /** Runs SQL and returns the rows. */
  rows: <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>
  close: () => Promise<void>
}

/** The interval of samples. */
export const sampleMs = 15_000

/** Starts a server with simulated versions, sampled with a clock that moves only when a test advances it. */
export async function startSampledApp(env: Record<string, string> = {}): Promise<SampledApp> {
  // The clock does not start at a full minute, so that a range that ends now contains only a part of the current minute.
  const clock = new ManualClock(new Date('2026-01-15T12:00:05Z'))
  const runtime = createSimRuntime({ clock, serve: true })
  const t = await startTestApp({ clock, runtime, env })
  const client = await t.app.database.pool.connect()
  let sampler: Sampler = await openSampler(t.app, client, { idleRatio: 0 })
  const cache = await loadObservationCache(t.app)
  const tick = async () => {
    await cache.recordContainers(await readContainers({ clock, runtime }, cache.containers))
    await observeProcessors(t.app, cache)
    await sampler.tick()
  }
  return {
    t,
    clock,
    runtime,
    org: await t.make.org(),
    client,
    advance: async (ms) => {
      for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += sampleMs) {
        clock.advance(sampleMs)
        await tick()
      }
    },
    advanceWithoutWorker: (ms) => clock.advance(ms),
    replaceWorker: async () => void (sampler = await openSampler(t.app, client, { idleRatio: 0 })),
    rows: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await client.query<Row>(text, values)).rows,
    close: async () => {
      client.release()
      await t.close()
    },
  }
}
