import type { AlertKind } from '@shoal/contract'
import { days, hours, minutes } from '../../../../clock.ts'
import { farBehindBlocks } from '../../../observing/progress/freshness.ts'
import { evaluateAlerts, emptyState, type Facts, type OpenAlert } from '../../rules/evaluate.ts'
import { thresholdsOf, rulesOf } from '../../rules/rules.ts'
import { SeededRandom } from './seeded-random.ts'
import { planGaps, episodesOf, faultDurationsMs, createEpisodeLookup, type Episode, type Fault } from './episodes.ts'
import { SimChain, type ChainSpec } from './sim-chain.ts'
import { SimVersion } from './sim-version.ts'

export const roundIntervalMs = 15_000
export const monthMs = days(30)

const chains: ChainSpec[] = [
  { id: 'eth', blockMs: 12_000, isIrregular: false, finalAfter: 64, finalEvery: 32, isWatched: true },
  { id: 'arbitrum', blockMs: 250, isIrregular: false, finalAfter: 2400, finalEvery: 1200, isWatched: true },
  { id: 'polygon', blockMs: 2000, isIrregular: false, finalAfter: 3, finalEvery: 1, isWatched: true },
  { id: 'quiet', blockMs: minutes(10), isIrregular: true, finalAfter: 2, finalEvery: 1, isWatched: true },
  { id: 'own', blockMs: 6000, isIrregular: true, finalAfter: 2, finalEvery: 1, isWatched: false },
  { id: 'sleepy', blockMs: minutes(25), isIrregular: true, finalAfter: 1, finalEvery: 1, isWatched: false },
]
const versionCount = 20

/** An alert that was opened in the month; `endedMs` is null if it is still open at its end. */
export type OpenedAlert = { kind: AlertKind; squidId: number | null; openedMs: number; endedMs: number | null }
/** `conditionMs`: when the condition of its alert rule became true; null until known. */
export type InjectedFault = Episode<Fault> & { squidId: number; conditionMs: number | null }

/** The version in which each fault is injected, on a chain where the fault is observable. */
const faultTargets: Record<Fault, { squidId: number; chain: string }> = {
  crashLoop: { squidId: 0, chain: 'eth' },
  outOfMemory: { squidId: 3, chain: 'quiet' },
  stall: { squidId: 18, chain: 'eth' },
  slowness: { squidId: 7, chain: 'arbitrum' },
  wrongHead: { squidId: 12, chain: 'eth' },
  frozenHead: { squidId: 4, chain: 'own' },
  apiDown: { squidId: 10, chain: 'own' },
  apiSlow: { squidId: 8, chain: 'polygon' },
  fullDatabase: { squidId: 14, chain: 'polygon' },
  failedDeploy: { squidId: 13, chain: 'arbitrum' },
}

/** When an organization uses 95 % of its quota. */
export const quotaFault = { orgId: 2, fromMs: days(20), toMs: days(22) }
/** When an organization has a failed payment. */
export const paymentFault = { orgId: 3, fromMs: days(23), toMs: days(25) }

/**
 * Simulates thirty days of twenty versions, observed every 15 seconds. Returns their alerts, the injected faults and
 * the number of rounds.
 */
export function runMonth(
  seed: number,
  withFaults: boolean,
): { alerts: OpenedAlert[]; injectedFaults: InjectedFault[]; rounds: number } {
  const random = new SeededRandom(seed)
  const injectedFaults = withFaults ? planFaults() : []
  const simChains = chains.map((spec) => new SimChain(spec, random, monthMs, injectedFaults))
  for (const chain of simChains) chain.advance(0)
  const versions = Array.from({ length: versionCount }, (_, id) => {
    const chain = simChains[id % simChains.length] ?? simChains[0]
    if (!chain) throw new Error('There are no chains')
    const spec = { id, chain, waitsForFinal: id % 5 === 1, speed: 2000, behind: id % 4 === 2 ? 3_000_000 : 0 }
    const fault = injectedFaults.find(({ squidId }) => squidId === id) ?? null
    return { chain, fault, version: new SimVersion(spec, episodesOf(random, monthMs, fault), random) }
  })
  const gapAt = createEpisodeLookup(
    planGaps(random, monthMs, { everyMs: days(3), durationMs: [10_000, minutes(20)], avoid: injectedFaults }),
  )
  const thresholds = thresholdsOf(rulesOf([]))
  const facts: Facts = { versions: versions.map(({ version }) => version.alertSubject), latencies: new Map(), orgs: [] }
  const recorded = new RecordedAlerts()
  let wasInGap = false
  let rounds = 0
  let state = emptyState

  const evaluate = (nowMs: number) => {
    const latencies = new Map(
      versions.flatMap(({ version }) => (version.latency ? [[version.alertSubject.id, version.latency] as const] : [])),
    )
    const orgs = orgFactsAt(nowMs, withFaults)
    const result = evaluateAlerts({ ...facts, latencies, orgs }, () => thresholds, {
      open: recorded.open,
      state,
      nowMs,
    })
    state = result.state
    recorded.apply(result.transitions, nowMs)
    rounds += 1
  }

  for (let nowMs = 0; nowMs < monthMs; nowMs += roundIntervalMs) {
    if (gapAt(nowMs)) {
      wasInGap = true
      continue
    }
    // Another worker takes over: its state is empty, and the recorded observations are old.
    if (wasInGap) {
      state = emptyState
      evaluate(nowMs)
      wasInGap = false
    }
    for (const chain of simChains) chain.advance(nowMs)
    for (const { version, chain, fault } of versions) {
      version.step(nowMs)
      if (fault && nowMs >= fault.fromMs) fault.conditionMs ??= conditionTimeOf(fault, version, chain, nowMs)
    }
    evaluate(nowMs)
  }
  return { alerts: recorded.alerts, injectedFaults, rounds }
}

/** Returns one fault of each type, two days apart, each in a different version. */
const planFaults = (): InjectedFault[] =>
  (Object.keys(faultDurationsMs) as Fault[]).map((type, i) => {
    const fromMs = days(2 + 2 * i) + hours(7)
    return {
      type,
      fromMs,
      toMs: fromMs + faultDurationsMs[type],
      squidId: faultTargets[type].squidId,
      conditionMs: null,
    }
  })

/** Returns when the condition of the alert rule became true; null while that depends on later observations. */
function conditionTimeOf(
  { type, fromMs }: InjectedFault,
  version: SimVersion,
  chain: SimChain,
  nowMs: number,
): number | null {
  if (type === 'slowness') return version.blocksBehind > 500 ? nowMs + minutes(2) : null
  if (type !== 'wrongHead') return fromMs + (conditionDelaysMs[type] ?? 0)
  const isFarBehind = chain.head !== null && chain.height - version.block > farBehindBlocks(chain.head.blockRate)
  return isFarBehind ? nowMs + minutes(1) : null
}
const conditionDelaysMs: Partial<Record<Fault, number>> = {
  // The time of the third crash.
  crashLoop: 9000,
  stall: minutes(5),
  frozenHead: minutes(10),
  apiDown: minutes(1),
}

function orgFactsAt(nowMs: number, withFaults: boolean): Facts['orgs'] {
  const isActive = ({ fromMs, toMs }: { fromMs: number; toMs: number }) => withFaults && nowMs >= fromMs && nowMs < toMs
  const share = (nowMs / monthMs) * 80
  return [1, 2, 3].map((orgId) => {
    const used = orgId === quotaFault.orgId && isActive(quotaFault) ? 95 : share
    const status = orgId === paymentFault.orgId && isActive(paymentFault) ? 'PAYMENT_ISSUES' : 'ACTIVE'
    return { orgId, facts: { status, quotas: [{ quota: 'rpc', used, cap: 100 }] } }
  })
}

/** Records alerts in memory instead of the database. */
class RecordedAlerts {
  open: OpenAlert[] = []
  readonly alerts: OpenedAlert[] = []

  apply(transitions: ReturnType<typeof evaluateAlerts>['transitions'], nowMs: number): void {
    for (const transition of transitions) {
      if (transition.type === 'open') {
        const { orgId, kind, version, container, text } = transition
        const squidId = version?.id ?? null
        this.open = [...this.open, { id: this.alerts.length, orgId, kind, squidId, container, ...text }]
        this.alerts.push({ kind, squidId, openedMs: nowMs, endedMs: null })
      } else if (transition.type === 'end') {
        const alert = this.alerts[transition.id]
        if (alert) alert.endedMs = nowMs
        this.open = this.open.filter(({ id }) => id !== transition.id)
      }
    }
  }
}
