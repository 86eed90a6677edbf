import { minutes } from '../../../../clock.ts'
import { nextRow } from '../../../observing/probing/observe-processors.ts'
import type { ProcessorRow } from '../../../observing/observe-store.ts'
import type { AlertSubject } from '../../rules/alert-subjects.ts'
import type { ObservedApi, ObservedProcessor } from '../../../observing/progress/details-store.ts'
import { observedContainer } from '../../../observing/testing/observed.ts'
import type { Latency } from '../../../observing/index.ts'
import type { SeededRandom } from './seeded-random.ts'
import { createEpisodeLookup, type VersionEpisode } from './episodes.ts'
import type { SimChain } from './sim-chain.ts'

/** The properties of a simulated version. */
export type SimVersionSpec = {
  id: number
  chain: SimChain
  /** Whether its processor indexes only final blocks. */
  waitsForFinal: boolean
  /** Blocks per second. */
  speed: number
  /** Blocks behind the head at the start of the month. */
  behind: number
}

const program = (container: string) => observedContainer({ squidId: 0, container, sinceMs: -minutes(60) })

/** A simulated version: the facts that a worker would observe of it every 15 seconds. */
export class SimVersion {
  readonly alertSubject: AlertSubject
  latency: Latency | undefined
  readonly #spec: SimVersionSpec
  readonly #random: SeededRandom
  readonly #episodeAt: (nowMs: number) => VersionEpisode | null
  readonly #processor = program('eth')
  readonly #api = program('api')
  readonly #apiState: ObservedApi = { squidId: 0, container: 'api', isAvailable: true, sinceMs: 0, reason: null }
  #lastEpisode: VersionEpisode | null = null
  #row: ProcessorRow | undefined
  #block: number
  #frozenHead: number | null = null
  #generation = 1
  /** The metrics endpoint responds from this time on. */
  #respondsFromMs = 0
  #lastMs = 0
  #usedShare = 0.2

  constructor(spec: SimVersionSpec, episodes: readonly VersionEpisode[], random: SeededRandom) {
    this.#spec = spec
    this.#random = random
    this.#episodeAt = createEpisodeLookup(episodes)
    this.#block = this.#target() - spec.behind
    this.alertSubject = {
      id: spec.id,
      orgId: 1 + (spec.id % 3),
      name: `squid-${spec.id}`,
      slot: 'v1',
      isDeleting: false,
      facts: {
        status: 'DEPLOYED',
        image: 'image',
        lastDeploy: { id: 1, type: 'DEPLOY', status: 'OK', failed: 'NO', running: false },
        apiReplicas: 1,
        hasuraReplicas: 0,
        hasura: [],
        processors: ['eth'],
        database: { usedBytes: 0, totalBytes: 1000 },
        containers: [this.#processor, this.#api],
        processorMetrics: [],
        apis: [this.#apiState],
      },
    }
  }

  /** Number of blocks between the current block and the target. */
  get blocksBehind(): number {
    return this.#target() - this.#block
  }

  get block(): number {
    return this.#block
  }

  step(nowMs: number): void {
    const episode = this.#episodeAt(nowMs)
    if (episode !== this.#lastEpisode) this.#changeEpisode(episode, nowMs)
    const type = episode?.type ?? null
    if (type === 'crashLoop' && episode) this.#crashRepeatedly(episode, nowMs)
    this.#index(type, nowMs)
    this.#updateObservations(type, nowMs)
    this.#fillDatabase(type)
    this.#lastMs = nowMs
  }

  #target(): number {
    const { chain, waitsForFinal } = this.#spec
    return waitsForFinal ? chain.final : chain.height
  }

  /** Ends the last episode and begins the next. */
  #changeEpisode(next: VersionEpisode | null, nowMs: number): void {
    const { facts } = this.alertSubject
    const last = this.#lastEpisode
    this.#lastEpisode = next
    const deploy = (running: boolean, failed: 'NO' | 'UNEXPECTED' = 'NO') => {
      facts.lastDeploy = { id: 1, type: 'DEPLOY', status: 'OK', failed, running }
      facts.status = running ? 'DEPLOYING' : failed === 'NO' ? 'DEPLOYED' : 'DEPLOY_ERROR'
    }
    if (last?.type === 'deploy' || last?.type === 'reset' || last?.type === 'hibernation') {
      deploy(false)
      facts.containers = [this.#processor, this.#api]
      facts.apis = [this.#apiState]
      this.#start(last.toMs, true)
      if (last.type === 'reset') this.#block = this.#target() - 200_000
    } else if (last?.type === 'restart') {
      deploy(false)
      this.#start(last.toMs, false)
    } else if (last?.type === 'failedDeploy') deploy(false)
    else if (last?.type === 'crashLoop') this.#run(last.toMs)
    else if (last?.type === 'wrongHead' || last?.type === 'frozenHead') this.#frozenHead = null
    if (next?.type === 'deploy' || next?.type === 'reset' || next?.type === 'restart') deploy(true)
    else if (next?.type === 'failedDeploy') deploy(false, 'UNEXPECTED')
    else if (next?.type === 'hibernation') {
      facts.status = 'HIBERNATED'
      facts.containers = []
      facts.apis = []
      facts.processorMetrics = []
    } else if (next?.type === 'crash' || next?.type === 'outOfMemory') this.#crash(next, nowMs)
    else if (next?.type === 'wrongHead' || next?.type === 'frozenHead') this.#frozenHead = this.#target()
  }

  #start(atMs: number, isNewGeneration: boolean): void {
    if (isNewGeneration) {
      this.#generation += 1
      this.#row = undefined
      this.alertSubject.facts.processorMetrics = []
      Object.assign(this.#api, program('api'), { sinceMs: atMs })
      Object.assign(this.#processor, program('eth'))
    }
    this.#run(atMs)
  }

  #run(atMs: number): void {
    Object.assign(this.#processor, { state: 'running', sinceMs: atMs })
    this.#respondsFromMs = atMs + this.#random.between(5_000, 40_000)
  }

  /** Crashes once and runs again two seconds later. */
  #crash({ type, fromMs }: VersionEpisode, nowMs: number): void {
    const processor = this.#processor
    processor.crashesInARow = fromMs - processor.sinceMs >= minutes(10) ? 1 : processor.crashesInARow + 1
    processor.restarts += 1
    processor.exitCode = 1
    processor.isOutOfMemory = type === 'outOfMemory'
    processor.reason = 'It ended with exit code 1'
    this.#run(fromMs + 2000)
    if (nowMs < fromMs + 1000) Object.assign(processor, { state: 'backoff', sinceMs: fromMs })
  }

  /** Crashes three seconds after each start; the delay before a restart doubles up to five minutes. */
  #crashRepeatedly({ fromMs }: VersionEpisode, nowMs: number): void {
    const processor = this.#processor
    let atMs = fromMs
    for (let crashes = 1; ; crashes += 1) {
      const retryMs = atMs + Math.min(1000 * 2 ** (crashes - 1), minutes(5))
      if (nowMs < retryMs + 3000) {
        const isWaiting = nowMs < retryMs
        const counts = { crashesInARow: crashes, restarts: crashes - (isWaiting ? 1 : 0), exitCode: 1 }
        Object.assign(processor, counts, {
          state: isWaiting ? 'backoff' : 'running',
          sinceMs: isWaiting ? atMs : retryMs,
        })
        break
      }
      atMs = retryMs + 3000
    }
    this.#respondsFromMs = Infinity
  }

  #index(type: VersionEpisode['type'] | null, nowMs: number): void {
    const hasNoProgress = type === 'pause' || type === 'stall' || nowMs < this.#respondsFromMs
    const isOff = type === 'deploy' || type === 'reset' || type === 'restart' || type === 'hibernation'
    if (hasNoProgress || isOff) return
    const seconds = (nowMs - this.#lastMs) / 1000
    const speed = type === 'slowness' ? (1000 / this.#spec.chain.spec.blockMs) * 0.3 : this.#spec.speed
    this.#block = Math.min(this.#frozenHead ?? this.#target(), this.#block + Math.floor(speed * seconds))
  }

  /** Updates the observations of metrics and api. */
  #updateObservations(type: VersionEpisode['type'] | null, nowMs: number): void {
    const { facts } = this.alertSubject
    if (facts.status === 'HIBERNATED') return
    const isDown = type === 'blip' || type === 'apiDown' || type === 'restart'
    if (this.#apiState.isAvailable === isDown) {
      this.#apiState.isAvailable = !isDown
      this.#apiState.sinceMs = nowMs
    }
    const calls = Math.floor(this.#random.between(0, 200))
    this.latency = { p95Ms: calls < 20 ? 9000 : this.#random.between(100, 1500), requests: calls }
    if (type === 'apiSlow') this.latency = { p95Ms: 5000, requests: 100 }
    if (type === 'deploy' || type === 'reset') return
    const isSilent = type === 'unscraped' || nowMs < this.#respondsFromMs
    this.#scrape(isSilent, nowMs)
  }

  #scrape(isSilent: boolean, nowMs: number): void {
    const { chain } = this.#spec
    // Nodes differ by one or two blocks.
    const headLag = this.#random.next() < 0.02 ? 2 : 0
    const totalBlocks = Math.max(this.#block, (this.#frozenHead ?? this.#target()) - headLag)
    const metrics = isSilent
      ? null
      : {
          currentBlock: this.#block,
          totalBlocks,
          blocksPerSecond: null,
          etaSeconds: totalBlocks - this.#block < 3 ? 0 : 60,
          syncRatio: null,
          rpcRequests: null,
          rpcFailures: null,
        }
    const id = { squidId: this.#spec.id, generation: this.#generation, container: 'eth' }
    const head = chain.head && {
      chain: chain.spec.id,
      headBlock: chain.head.headBlock,
      finalBlock: chain.head.finalBlock,
      movedAt: new Date(chain.head.movedAtMs),
      blockRate: chain.head.blockRate,
      observedAt: new Date(chain.head.observedAtMs),
    }
    const source = chain.spec.isWatched ? { chain: chain.spec.id, head } : null
    const row = nextRow(id, this.#row, metrics, new Date(nowMs), source)
    if (row) this.#row = row
    if (this.#row) this.alertSubject.facts.processorMetrics = [metricsOf(this.#row, chain)]
  }

  #fillDatabase(type: VersionEpisode['type'] | null): void {
    this.#usedShare = Math.min(0.7, Math.max(0.1, this.#usedShare + this.#random.between(-0.001, 0.00102)))
    this.alertSubject.facts.database = {
      usedBytes: (type === 'fullDatabase' ? 0.85 : this.#usedShare) * 1000,
      totalBytes: 1000,
    }
  }
}

const metricsOf = (row: ProcessorRow, chain: SimChain): ObservedProcessor => ({
  squidId: row.squidId,
  processor: row.processor,
  currentBlock: row.currentBlock,
  totalBlocks: row.totalBlocks,
  blocksPerSecond: row.blocksPerSecond,
  etaSeconds: row.etaSeconds,
  progressedAtMs: row.progressedAt?.getTime() ?? null,
  headMovedAtMs: row.headMovedAt?.getTime() ?? null,
  scrapedAtMs: row.scrapedAt.getTime(),
  unresponsiveSinceMs: row.unansweredSince?.getTime() ?? null,
  headRate: row.headRate,
  caughtUpAtMs: row.caughtUpAt?.getTime() ?? null,
  stalledMs: row.stalledMs,
  followsHead: row.followsHead,
  nodeRespondedAtMs: row.answeredAt?.getTime() ?? null,
  nodeResponseRate: row.responseRate,
  head: chain.spec.isWatched ? chain.head : null,
})
