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
  /** Lets time pass; every 15 seconds what is true is noted and sampled, as workers do it. */
  pass: (ms: number) => Promise<void>
  /** Lets time pass while no worker is there. */
  passUnseen: (ms: number) => void
  /** The worker is killed, another one takes over. */
  restart: () => Promise<void>
  rows: <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>
  close: () => Promise<void>
}

export const sampleMs = 15_000

/** A server with simulated versions, sampled in a time that stands still until it is moved. */
export async function startSampledApp(env: Record<string, string> = {}): Promise<SampledApp> {
  // Not on the minute: what happens right now is not in a range that ends now.
  const clock = new ManualClock(new Date('2026-01-15T12:00:05Z'))
  const runtime = createSimRuntime({ clock, serve: true })
  const t = await startTestApp({ clock, runtime, env })
  const client = await t.app.database.pool.connect()
  let sampler: Sampler = await openSampler(t.app, client, { idleRatio: 0 })
  const seen = await loadObservationCache(t.app)
  const tick = async () => {
    await seen.recordContainers(await readContainers({ clock, runtime }, seen.containers))
    await observeProcessors(t.app, seen)
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
