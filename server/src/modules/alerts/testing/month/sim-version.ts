import { minutes } from '../../../../clock.ts'
import { nextRow } from '../../../observing/probing/observe-processors.ts'
import type { ProcessorRow } from '../../../observing/index.ts'
import type { AlertSubject } from '../../rules/alert-subjects.ts'
import type { ObservedApi, ObservedProcessor } from '../../../observing/progress/parts-store.ts'
import { observedContainer } from '../../../observing/testing/observed.ts'
import type { Latency } from '../../../observing/index.ts'
import type { SeededRandom } from './chance.ts'
import { follow, type VersionEpisode } from './episodes.ts'
import type { SimChain } from './sim-chain.ts'

export type SimVersionSpec = {
  id: number
  chain: SimChain
  /** It indexes only final blocks. */
  waitsForFinal: boolean
  /** Blocks a second. */
  speed: number
  /** Blocks behind the head at the start of the month. */
  behind: number
}

const program = (container: string) => observedContainer({ squidId: 0, container, sinceMs: -minutes(60) })

/** A simulated version: the facts that a worker would observe of it every 15 seconds. */
export class SimVersion {
  readonly facts: AlertSubject
  latency: Latency | undefined
  readonly #spec: SimVersionSpec
  readonly #random: SeededRandom
  readonly #episodeAt: (nowMs: number) => VersionEpisode | null
  readonly #processor = program('eth')
  readonly #api = program('api')
  readonly #apiState: ObservedApi = { squidId: 0, container: 'api', isAvailable: true, sinceMs: 0, reason: null }
  #last: VersionEpisode | null = null
  #row: ProcessorRow | undefined
  #block: number
  #frozenHead: number | null = null
  #generation = 1
  /** Its metrics respond from this time on. */
  #respondsFromMs = 0
  #lastMs = 0
  #used = 0.2

  constructor(spec: SimVersionSpec, episodes: readonly VersionEpisode[], random: SeededRandom) {
    this.#spec = spec
    this.#random = random
    this.#episodeAt = follow(episodes)
    this.#block = this.#target() - spec.behind
    this.facts = {
      id: spec.id,
      orgId: 1 + (spec.id % 3),
      name: `squid-${spec.id}`,
      slot: 'v1',
      isDeleting: false,
      subject: {
        status: 'DEPLOYED',
        image: 'image',
        lastDeploy: { id: 1, type: 'DEPLOY', status: 'OK', failed: 'NO', running: false },
        apiReplicas: 1,
        processors: ['eth'],
        database: { usedBytes: 0, totalBytes: 1000 },
        containers: [this.#processor, this.#api],
        seen: [],
        apis: [this.#apiState],
      },
    }
  }

  /** Blocks behind its target. */
  get late(): number {
    return this.#target() - this.#block
  }

  get block(): number {
    return this.#block
  }

  step(nowMs: number): void {
    const episode = this.#episodeAt(nowMs)
    if (episode !== this.#last) this.#changeEpisode(episode, nowMs)
    const type = episode?.type ?? null
    if (type === 'crashLoop' && episode) this.#crashRepeatedly(episode, nowMs)
    this.#index(type, nowMs)
    this.#respond(type, nowMs)
    this.#fillDatabase(type)
    this.#lastMs = nowMs
  }

  #target(): number {
    const { chain, waitsForFinal } = this.#spec
    return waitsForFinal ? chain.final : chain.height
  }

  /** Ends the last episode and begins the next. */
  #changeEpisode(next: VersionEpisode | null, nowMs: number): void {
    const { subject } = this.facts
    const last = this.#last
    this.#last = next
    const deploy = (running: boolean, failed: 'NO' | 'UNEXPECTED' = 'NO') => {
      subject.lastDeploy = { id: 1, type: 'DEPLOY', status: 'OK', failed, running }
      subject.status = running ? 'DEPLOYING' : failed === 'NO' ? 'DEPLOYED' : 'DEPLOY_ERROR'
    }
    if (last?.type === 'deploy' || last?.type === 'reset' || last?.type === 'hibernation') {
      deploy(false)
      subject.containers = [this.#processor, this.#api]
      subject.apis = [this.#apiState]
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
      subject.status = 'HIBERNATED'
      subject.containers = []
      subject.apis = []
      subject.seen = []
    } else if (next?.type === 'crash' || next?.type === 'outOfMemory') this.#crash(next, nowMs)
    else if (next?.type === 'wrongHead' || next?.type === 'frozenHead') this.#frozenHead = this.#target()
  }

  #start(atMs: number, isNewGeneration: boolean): void {
    if (isNewGeneration) {
      this.#generation += 1
      this.#row = undefined
      this.facts.subject.seen = []
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
    const row = this.#processor
    row.crashesInARow = fromMs - row.sinceMs >= minutes(10) ? 1 : row.crashesInARow + 1
    row.restarts += 1
    row.exitCode = 1
    row.isOutOfMemory = type === 'outOfMemory'
    row.reason = 'It ended with exit code 1'
    this.#run(fromMs + 2000)
    if (nowMs < fromMs + 1000) Object.assign(row, { state: 'backoff', sinceMs: fromMs })
  }

  /** Crashes three seconds after each start; the delay before a restart doubles up to five minutes. */
  #crashRepeatedly({ fromMs }: VersionEpisode, nowMs: number): void {
    const row = this.#processor
    let atMs = fromMs
    for (let crashes = 1; ; crashes += 1) {
      const retryMs = atMs + Math.min(1000 * 2 ** (crashes - 1), minutes(5))
      if (nowMs < retryMs + 3000) {
        const isWaiting = nowMs < retryMs
        const counts = { crashesInARow: crashes, restarts: crashes - (isWaiting ? 1 : 0), exitCode: 1 }
        Object.assign(row, counts, { state: isWaiting ? 'backoff' : 'running', sinceMs: isWaiting ? atMs : retryMs })
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

  /** Updates what its metrics and api report. */
  #respond(type: VersionEpisode['type'] | null, nowMs: number): void {
    const { subject } = this.facts
    if (subject.status === 'HIBERNATED') return
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
    const jitter = this.#random.next() < 0.02 ? 2 : 0
    const totalBlocks = Math.max(this.#block, (this.#frozenHead ?? this.#target()) - jitter)
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
    const of = { squidId: this.#spec.id, generation: this.#generation, container: 'eth' }
    const head = chain.seen && {
      chain: chain.spec.id,
      headBlock: chain.seen.headBlock,
      finalBlock: chain.seen.finalBlock,
      movedAt: new Date(chain.seen.movedAtMs),
      pace: chain.seen.pace,
      observedAt: new Date(chain.seen.observedAtMs),
    }
    const known = chain.spec.isWatched ? { chain: chain.spec.id, head } : null
    const row = nextRow(of, this.#row, metrics, new Date(nowMs), known)
    if (row) this.#row = row
    if (this.#row) this.facts.subject.seen = [seenOf(this.#row, chain)]
  }

  #fillDatabase(type: VersionEpisode['type'] | null): void {
    this.#used = Math.min(0.7, Math.max(0.1, this.#used + this.#random.between(-0.001, 0.00102)))
    this.facts.subject.database = { usedBytes: (type === 'fullDatabase' ? 0.85 : this.#used) * 1000, totalBytes: 1000 }
  }
}

const seenOf = (row: ProcessorRow, chain: SimChain): ObservedProcessor => ({
  squidId: row.squidId,
  processor: row.processor,
  currentBlock: row.currentBlock,
  totalBlocks: row.totalBlocks,
  blocksPerSecond: row.blocksPerSecond,
  etaSeconds: row.etaSeconds,
  progressedAtMs: row.progressedAt?.getTime() ?? null,
  headMovedAtMs: row.headMovedAt?.getTime() ?? null,
  scrapedAtMs: row.scrapedAt.getTime(),
  unansweredSinceMs: row.unansweredSince?.getTime() ?? null,
  headPace: row.headPace,
  caughtUpAtMs: row.caughtUpAt?.getTime() ?? null,
  stillMs: row.stillMs,
  followsHead: row.followsHead,
  answeredAtMs: row.answeredAt?.getTime() ?? null,
  answerPace: row.answerPace,
  head: chain.spec.isWatched ? chain.seen : null,
})
