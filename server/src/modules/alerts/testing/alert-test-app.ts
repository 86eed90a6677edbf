import { createSimRuntime, ManualClock, type SimRuntime } from '@shoal/runtime'
import type { AlertEvent } from '@shoal/contract'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { saveUpstreamStates } from '../../chains/index.ts'
import { createKnownHeads } from '../../observing/sources/known-heads.ts'
import { observeApis } from '../../observing/probing/observe-apis.ts'
import { readContainers } from '../../observing/containers/observe-containers.ts'
import { observeProcessors } from '../../observing/probing/observe-processors.ts'
import { loadObservationCache } from '../../observing/observation-cache.ts'
import { createAlertsRound } from '../round.ts'

/** A server with simulated versions, and a worker that opens and ends alerts. */
export type AlertTestApp = {
  t: TestApp
  clock: ManualClock
  runtime: SimRuntime
  /** Advances the clock; every 15 seconds the worker records observations, and opens and ends alerts. */
  advance: (ms: number) => Promise<void>
  /** Advances the clock while no worker runs. */
  advanceWithoutWorker: (ms: number) => void
  /** Replaces the worker with a new one, as after a kill. */
  restart: () => Promise<void>
  /** Sets the head of a chain that the RPC gateway's nodes report from now on; null removes the nodes. */
  setHead: (chain: string, height: (() => number) | null) => void
  alerts: (org: TestOrg, state?: 'open' | 'ended') => Promise<AlertEvent[]>
  close: () => Promise<void>
}

const roundMs = 15_000

/** Starts a server with simulated versions, and a worker whose clock advances only by `advance` and `advanceWithoutWorker`. */
export async function startAlertTestApp(): Promise<AlertTestApp> {
  const clock = new ManualClock()
  const runtime = createSimRuntime({ clock, serve: true })
  const t = await startTestApp({ clock, runtime })
  const heights = new Map<string, () => number>()

  const startWorker = async () => {
    const cache = await loadObservationCache(t.app)
    const heads = createKnownHeads(t.app)
    const evaluate = createAlertsRound(t.app)
    return async () => {
      await saveUpstreamStates(
        t.app.db,
        [...heights].map(([chain, height]) => upstream(chain, height(), clock.now())),
      )
      await cache.recordContainers(await readContainers({ clock, runtime }, cache.containers))
      await heads.refresh()
      await observeApis(t.app, cache)
      await observeProcessors(t.app, cache, heads.headOf)
      await evaluate()
    }
  }
  let runRound = await startWorker()
  return {
    t,
    clock,
    runtime,
    advance: async (ms) => {
      await runRound()
      for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += roundMs) {
        clock.advance(roundMs)
        await runRound()
      }
    },
    advanceWithoutWorker: (ms) => clock.advance(ms),
    restart: async () => void (runRound = await startWorker()),
    setHead: (chain, height) => void (height ? heights.set(chain, height) : heights.delete(chain)),
    alerts: (org, state = 'open') => t.as(org.admin).alerts.list({ params: { code: org.code }, query: { state } }),
    close: () => t.close(),
  }
}

const upstream = (chain: string, headBlock: number, observedAt: Date) => ({
  chain,
  upstream: 'test',
  isHealthy: true,
  isArchive: true,
  headBlock,
  finalizedBlock: headBlock - 64,
  latencyP50Ms: 1,
  latencyP95Ms: 1,
  reason: null,
  observedAt,
})
