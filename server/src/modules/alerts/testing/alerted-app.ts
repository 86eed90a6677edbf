import { createSimRuntime, ManualClock, type SimRuntime } from '@shoal/runtime'
import type { AlertEvent } from '@shoal/contract'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { saveUpstreamStates } from '../../rpc/index.ts'
import { createKnownHeads } from '../../observing/sources/known-heads.ts'
import { observeApis } from '../../observing/probing/observe-apis.ts'
import { readContainers } from '../../observing/containers/observe-containers.ts'
import { observeProcessors } from '../../observing/probing/observe-processors.ts'
import { loadObservationCache } from '../../observing/observation-cache.ts'
import { alertsRound } from '../round.ts'

export type AlertedApp = {
  t: TestApp
  clock: ManualClock
  runtime: SimRuntime
  /** Lets time pass; every 15 seconds what is true is noted, and alerts are opened and ended, as workers do it. */
  pass: (ms: number) => Promise<void>
  /** Lets time pass while no worker is there. */
  passUnseen: (ms: number) => void
  /** The worker is killed, another one takes over. */
  restart: () => Promise<void>
  /** The height of a chain, as nodes of the RPC gateway show it from now on; null: no node is observed. */
  showHead: (chain: string, height: (() => number) | null) => void
  alerts: (org: TestOrg, state?: 'open' | 'ended') => Promise<AlertEvent[]>
  close: () => Promise<void>
}

const everyMs = 15_000

/** A server with simulated versions that is looked after in a time that stands still until it is moved. */
export async function startAlertedApp(): Promise<AlertedApp> {
  const clock = new ManualClock()
  const runtime = createSimRuntime({ clock, serve: true })
  const t = await startTestApp({ clock, runtime })
  const heights = new Map<string, () => number>()

  const work = async () => {
    const seen = await loadObservationCache(t.app)
    const heads = createKnownHeads(t.app)
    const turn = alertsRound(t.app)
    return async () => {
      await saveUpstreamStates(
        t.app.db,
        [...heights].map(([chain, height]) => upstream(chain, height(), clock.now())),
      )
      await seen.recordContainers(await readContainers({ clock, runtime }, seen.containers))
      await heads.look()
      await observeApis(t.app, seen, true)
      await observeProcessors(t.app, seen, heads.headOf)
      await turn()
    }
  }
  let look = await work()
  return {
    t,
    clock,
    runtime,
    pass: async (ms) => {
      await look()
      for (let passed = 0; passed < ms; passed += everyMs) {
        clock.advance(everyMs)
        await look()
      }
    },
    passUnseen: (ms) => clock.advance(ms),
    restart: async () => void (look = await work()),
    showHead: (chain, height) => void (height ? heights.set(chain, height) : heights.delete(chain)),
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
