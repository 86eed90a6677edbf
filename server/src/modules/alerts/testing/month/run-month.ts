import type { AlertKind } from '@shoal/contract'
import { days, hours, minutes } from '../../../../clock.ts'
import { farBehindBlocks } from '../../../observing/progress/freshness.ts'
import { evaluateAlerts, emptyState, type Facts, type OpenAlert } from '../../rules/evaluate.ts'
import { limitsOf, rulesOf } from '../../rules/rules.ts'
import { SeededRandom } from './chance.ts'
import { awayTimes, episodesOf, faults, follow, type Episode, type Fault } from './episodes.ts'
import { SimChain, type ChainSpec } from './sim-chain.ts'
import { SimVersion } from './sim-version.ts'

export const everyMs = 15_000
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

export type OpenedAlert = { kind: AlertKind; squidId: number | null; openedMs: number; endedMs: number | null }
export type InjectedFault = Episode<Fault> & { squidId: number; conditionMs: number | null }

/** The version of each fault, on a chain where the fault shows. */
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

export const quotaFault = { orgId: 2, fromMs: days(20), toMs: days(22) }
export const paymentFault = { orgId: 3, fromMs: days(23), toMs: days(25) }

/** Simulates thirty days of twenty versions, observed every 15 seconds. Returns their alerts. */
export function runMonth(
  seed: number,
  withFaults: boolean,
): { alerts: OpenedAlert[]; faulted: InjectedFault[]; rounds: number } {
  const random = new SeededRandom(seed)
  const faulted = withFaults ? planFaults() : []
  const simChains = chains.map((spec) => new SimChain(spec, random, monthMs, faulted))
  for (const chain of simChains) chain.advance(0)
  const versions = Array.from({ length: versionCount }, (_, id) => {
    const chain = simChains[id % simChains.length] ?? simChains[0]
    if (!chain) throw new Error('There are no chains')
    const spec = { id, chain, waitsForFinal: id % 5 === 1, speed: 2000, behind: id % 4 === 2 ? 3_000_000 : 0 }
    const fault = faulted.find(({ squidId }) => squidId === id) ?? null
    return { chain, fault, version: new SimVersion(spec, episodesOf(random, monthMs, fault), random) }
  })
  const awayAt = follow(awayTimes(random, monthMs, { everyMs: days(3), ms: [10_000, minutes(20)], notNear: faulted }))
  const limits = limitsOf(rulesOf([]))
  const facts: Facts = { versions: versions.map(({ version }) => version.facts), latencies: new Map(), orgs: [] }
  const recorded = new RecordedAlerts()
  let wasAway = false
  let rounds = 0
  let memory = emptyState

  const evaluate = (nowMs: number) => {
    const latencies = new Map(
      versions.flatMap(({ version }) => (version.latency ? [[version.facts.id, version.latency] as const] : [])),
    )
    const orgs = orgFactsAt(nowMs, withFaults)
    const result = evaluateAlerts({ ...facts, latencies, orgs }, () => limits, recorded.open, memory, nowMs)
    memory = result.memory
    recorded.apply(result.transitions, nowMs)
    rounds += 1
  }

  for (let nowMs = 0; nowMs < monthMs; nowMs += everyMs) {
    if (awayAt(nowMs)) {
      wasAway = true
      continue
    }
    // Another worker takes over: its state is empty, and the recorded observations are old.
    if (wasAway) {
      memory = emptyState
      evaluate(nowMs)
      wasAway = false
    }
    for (const chain of simChains) chain.advance(nowMs)
    for (const { version, chain, fault } of versions) {
      version.step(nowMs)
      if (fault && nowMs >= fault.fromMs) fault.conditionMs ??= conditionOf(fault, version, chain, nowMs)
    }
    evaluate(nowMs)
  }
  return { alerts: recorded.alerts, faulted, rounds }
}

/** One fault every two days, each on another version. */
const planFaults = (): InjectedFault[] =>
  (Object.keys(faults) as Fault[]).map((type, i) => {
    const fromMs = days(2 + 2 * i) + hours(7)
    return { type, fromMs, toMs: fromMs + faults[type], squidId: faultTargets[type].squidId, conditionMs: null }
  })

/** When the condition of the fault's rule is true; null if that depends on observations and has not happened yet. */
function conditionOf(
  { type, fromMs }: InjectedFault,
  version: SimVersion,
  chain: SimChain,
  nowMs: number,
): number | null {
  if (type === 'slowness') return version.late > 500 ? nowMs + minutes(2) : null
  if (type !== 'wrongHead') return fromMs + (conditionAfterMs[type] ?? 0)
  const isFar = chain.seen !== null && chain.height - version.block > farBehindBlocks(chain.seen.pace)
  return isFar ? nowMs + minutes(1) : null
}
const conditionAfterMs: Partial<Record<Fault, number>> = {
  // The third crash.
  crashLoop: 9000,
  stall: minutes(5),
  frozenHead: minutes(10),
  apiDown: minutes(1),
}

function orgFactsAt(nowMs: number, withFaults: boolean): Facts['orgs'] {
  const isIn = ({ fromMs, toMs }: { fromMs: number; toMs: number }) => withFaults && nowMs >= fromMs && nowMs < toMs
  const share = (nowMs / monthMs) * 80
  return [1, 2, 3].map((orgId) => {
    const used = orgId === quotaFault.orgId && isIn(quotaFault) ? 95 : share
    const status = orgId === paymentFault.orgId && isIn(paymentFault) ? 'PAYMENT_ISSUES' : 'ACTIVE'
    return { orgId, facts: { status, quotas: [{ quota: 'rpc', used, cap: 100 }] } }
  })
}

/** Replaces the database rows of alerts. */
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
