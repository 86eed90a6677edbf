import { randomUUID } from 'node:crypto'
import { backoffMs, crashesInARow } from '../backoff.ts'
import type { Clock, Timer } from '../clock.ts'
import type { ContainerSpec, ContainerState, EndedHow, LastRun, Observation, Run, ContainerUsage } from '../driver.ts'
import { ENDED, IMAGE_GONE, exitMessage, isFinal } from '../exit-message.ts'
import { type SimBehaviour, type SimSync, sdkLine } from './behaviour.ts'
import type { SimLog } from './sim-log.ts'

const KILLED = 137
const TERMINATED = 143

export type SimContainerOptions = {
  clock: Clock
  workload: string
  spec: ContainerSpec
  behaviour: SimBehaviour
  hasImage: () => boolean
  log: SimLog
  /** State of the replaced container of the same name. */
  history: SimHistory | undefined
  /** Called after output was written. */
  wrote: () => void
  /** Called when it is no longer running. */
  stopped: () => void
  /** Called when its state has changed. */
  changed: () => void
}

/** `begun`: number of runs so far, which is the ordinal of the next one. `used`: usage of the last run at its end. */
export type SimHistory = {
  begun: number
  lastRun: LastRun | null
  used: { cpuSeconds: number; throttledSeconds: number }
}

/** Progress of a processor. */
export type SimProgress = { lastBlock: number; headBlock: number; blocksPerSecond: number; rpcAnswers?: number }

/** One simulated container. Has no timers: usage and progress are computed from the current time on demand. */
export class SimContainer {
  readonly spec: ContainerSpec
  readonly log: SimLog
  readonly #options: SimContainerOptions
  #state: ContainerState = 'starting'
  #since: Date
  #retryAt: Date | null = null
  #reason: string | null = null
  /** Consecutive failures, for the backoff. */
  #crashes = 0
  readonly #history: SimHistory
  #runs = 0
  #run: Run | null = null
  #hasReachedLastBlock = false
  readonly #timers = new Set<Timer>()
  #isStopped = false

  constructor(options: SimContainerOptions) {
    this.#options = options
    this.spec = options.spec
    this.log = options.log
    this.#since = options.clock.now()
    this.#history = options.history ?? { begun: 0, lastRun: null, used: { cpuSeconds: 0, throttledSeconds: 0 } }
    this.begin()
  }

  get history(): SimHistory {
    return { ...this.#history }
  }

  get behaviour(): SimBehaviour {
    return this.#options.behaviour
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  begin(): void {
    const { behaviour, hasImage } = this.#options
    const problem = hasImage() ? behaviour.cannotStart : IMAGE_GONE
    if (problem) this.#fail('failed', problem)
    else if (behaviour.startMs) this.#after(behaviour.startMs, () => this.#start())
    else this.#start()
  }

  /** See `Runtime.retry`. */
  retry(reason: string): void {
    if (this.#state !== 'finished' || this.spec.restart === 'never') return
    if (this.#history.lastRun) this.#history.lastRun = { ...this.#history.lastRun, how: 'error' }
    this.#fail('backoff', reason)
  }

  /** Ends the program, not the container: `resume` starts it again. */
  stop(): void {
    this.#isStopped = true
    this.#cancelTimers()
    this.#closeRun({ exitCode: TERMINATED, how: 'stopped' })
    if (this.#state === 'running') this.#enter('starting')
  }

  resume(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    if (this.#state === 'starting') this.begin()
    else if (this.#retryAt) this.#after(this.#retryAt.getTime() - this.#now().getTime(), () => this.begin())
  }

  observation(): Observation {
    return {
      workload: this.#options.workload,
      container: this.spec.name,
      state: this.#state,
      since: this.#since,
      run: this.#run,
      lastRun: this.#history.lastRun,
      retryAt: this.#retryAt,
      reason: this.#reason,
    }
  }

  /** Null when it has never run. */
  usage(): ContainerUsage | null {
    const { resources } = this.spec
    const run = this.#run ?? this.#history.lastRun
    if (!run) return null
    return {
      workload: this.#options.workload,
      container: this.spec.name,
      run: run.id,
      at: this.#now(),
      ...(this.#run ? this.#usageOfRun(this.#run) : { ...this.#history.used, memoryBytes: 0 }),
      memoryLimitBytes: resources.memoryBytes,
      cpuLimitCores: resources.cpuCores,
      oomKills: this.#run ? 0 : (this.#history.lastRun?.oomKills ?? null),
    }
  }

  /** Null for containers other than processors. */
  progress(): SimProgress | null {
    const { sync } = this.#options.behaviour
    return sync ? progressAfter(sync, this.isRunning ? this.#ranMs() / 1000 : 0) : null
  }

  #start(): void {
    const { behaviour } = this.#options
    this.#run = { id: randomUUID(), ordinal: this.#history.begun++, startedAt: this.#now(), node: null }
    this.#runs++
    this.#enter('running')
    for (const line of behaviour.print ?? []) this.log.write(line, this.#now())
    this.log.writePart(behaviour.printLast ?? '')
    this.#options.wrote()
    this.#chatter(1)
    this.#planEnd()
  }

  #planEnd(): void {
    const { ends, badRuns = Infinity, usage } = this.#options.behaviour
    const growth = usage?.memoryGrowthBytesPerSecond ?? 0
    const full =
      usage && growth > 0 ? ((this.spec.resources.memoryBytes - usage.memoryBytes) / growth) * 1000 : Infinity
    if (full < Infinity) this.#after(full, () => this.#end(KILLED, true))
    this.#planLastBlock()
    if (!ends || this.#runs > badRuns) return
    this.#after(ends.afterMs, () => ('exitCode' in ends ? this.#end(ends.exitCode, false) : this.#end(KILLED, true)))
  }

  #planLastBlock(): void {
    const { sync } = this.#options.behaviour
    if (sync?.toBlock === undefined) return
    if (this.#hasReachedLastBlock) {
      this.log.write(sdkLine('sqd:processor', 'nothing to do'), this.#now())
      this.#options.wrote()
    }
    const ms = this.#hasReachedLastBlock ? 0 : secondsUntil(sync, sync.toBlock) * 1000
    if (ms === Infinity) return
    this.#after(ms, () => {
      this.#hasReachedLastBlock = true
      this.#end(0, false)
    })
  }

  #chatter(count: number): void {
    const { chatter } = this.#options.behaviour
    if (!chatter) return
    this.#after(chatter.everyMs, () => {
      this.log.write(chatter.text.replaceAll('{n}', String(count)), this.#now())
      this.#options.wrote()
      this.#chatter(count + 1)
    })
  }

  #end(exitCode: number, outOfMemory: boolean): void {
    const ranMs = this.#ranMs()
    const isDone = exitCode === 0 && isFinal(this.spec.restart, exitCode)
    this.#cancelTimers()
    this.#closeRun({ exitCode, how: outOfMemory ? 'oom' : isDone ? 'done' : 'error' })
    const reason = exitMessage(exitCode, outOfMemory)
    const crashes = crashesInARow(this.#crashes, ranMs)
    if (!isFinal(this.spec.restart, exitCode)) return this.#fail('backoff', reason ?? ENDED, crashes)
    this.#crashes = crashes - 1
    this.#enter('finished', reason)
  }

  #fail(state: 'backoff' | 'failed', reason: string | null, crashes = this.#crashes + 1): void {
    this.#crashes = crashes
    this.#enter(state, reason)
    if (this.spec.restart === 'never') return
    const ms = backoffMs(crashes)
    this.#retryAt = new Date(this.#now().getTime() + ms)
    this.#after(ms, () => this.begin())
  }

  #closeRun(end: { exitCode: number; how: EndedHow }): void {
    if (this.#run) {
      const { cpuSeconds, throttledSeconds } = this.#usageOfRun(this.#run)
      this.#history.used = { cpuSeconds, throttledSeconds }
      this.#history.lastRun = { ...this.#run, ...end, endedAt: this.#now(), oomKills: end.how === 'oom' ? 1 : 0 }
      this.#run = null
    }
    this.log.seal(this.#now())
    this.#options.wrote()
    this.#options.stopped()
  }

  #usageOfRun({ startedAt }: Run) {
    const { usage = { cpuCores: 0.01, memoryBytes: 32 * 1024 * 1024 } } = this.#options.behaviour
    const { cpuCores, memoryBytes } = this.spec.resources
    const seconds = (this.#now().getTime() - startedAt.getTime()) / 1000
    const grown = usage.memoryBytes + (usage.memoryGrowthBytesPerSecond ?? 0) * seconds
    return {
      cpuSeconds: Math.min(usage.cpuCores, cpuCores) * seconds,
      throttledSeconds: usage.cpuCores > cpuCores ? (1 - cpuCores / usage.cpuCores) * seconds : 0,
      memoryBytes: Math.min(memoryBytes, Math.round(grown)),
    }
  }

  #enter(state: ContainerState, reason: string | null = null): void {
    this.#state = state
    this.#since = this.#now()
    this.#reason = reason
    this.#retryAt = null
    this.#options.changed()
  }

  #after(ms: number, callback: () => void): void {
    const timer = this.#options.clock.setTimeout(() => {
      this.#timers.delete(timer)
      callback()
    }, ms)
    this.#timers.add(timer)
  }

  #cancelTimers(): void {
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }

  #ranMs(): number {
    return this.#now().getTime() - this.#since.getTime()
  }

  #now(): Date {
    return this.#options.clock.now()
  }
}

/** Catches up with the head at its speed, and then follows it. */
export function progressAfter(sync: SimSync, secondsRun: number): SimProgress {
  const seconds = secondsKnown(sync, secondsRun)
  const headBlock = Math.floor(sync.headBlock + sync.headBlocksPerSecond * seconds)
  const reached = Math.floor(sync.fromBlock + sync.blocksPerSecond * seconds)
  const lastBlock = Math.min(reached, headBlock, sync.stallsAtBlock ?? Infinity, sync.toBlock ?? Infinity)
  const isMoving = lastBlock === reached
  return {
    lastBlock,
    headBlock,
    blocksPerSecond: isMoving ? sync.blocksPerSecond : lastBlock === headBlock ? sync.headBlocksPerSecond : 0,
    ...(sync.source && { rpcAnswers: Math.floor((seconds * 1000) / sync.source.asksEveryMs) }),
  }
}

/** Infinity for a block that is never reached. */
function secondsUntil({ fromBlock, headBlock, headBlocksPerSecond, blocksPerSecond }: SimSync, block: number): number {
  const chain = block <= headBlock ? 0 : (block - headBlock) / headBlocksPerSecond
  return Math.max(0, chain, (block - fromBlock) / blocksPerSecond)
}

/** The seconds of chain growth known to the processor, which do not increase while its source is silent. */
function secondsKnown({ source }: SimSync, seconds: number): number {
  const { silentFromMs = Infinity, silentToMs = Infinity } = source ?? {}
  return seconds * 1000 >= silentToMs ? seconds : Math.min(seconds, silentFromMs / 1000)
}
