import { createSimRuntime, ManualClock, type SimRuntime } from '@shoal/runtime'
import type { PoolClient } from 'pg'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { readContainers } from '../../observing/containers/observe-containers.ts'
import { observeProcessors } from '../../observing/probing/observe-processors.ts'
import { loadObservationCache } from '../../observing/observation-cache.ts'
import { openSampler, type Sampler } from '../sampling/sampler.ts'

export type SampledApp = {
  t: TestApp
  clock: ManualClock
  runtime: SimRuntime
  org: TestOrg
  client: PoolClient
  /** Lets time pass; every 15 seconds observations are recorded and sampled, as workers do. */
  pass: (ms: number) => Promise<void>
  /** Lets time pass without a worker. */
  passUnseen: (ms: number) => void
  /** Kills the worker; another one takes over. */
  restart: () => Promise<void>
  rows: <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>
  close: () => Promise<void>
}

export const sampleMs = 15_000

/** A server with simulated versions, sampled with a clock that moves only when a test advances it. */
export async function startSampledApp(env: Record<string, string> = {}): Promise<SampledApp> {
  // Not on a full minute, so that the current minute is outside of a range that ends now.
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
    pass: async (ms) => {
      for (let passed = 0; passed < ms; passed += sampleMs) {
        clock.advance(sampleMs)
        await tick()
      }
    },
    passUnseen: (ms) => clock.advance(ms),
    restart: async () => void (sampler = await openSampler(t.app, client, { idleRatio: 0 })),
    rows: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await client.query<Row>(text, values)).rows,
    close: async () => {
      client.release()
      await t.close()
    },
  }
}
