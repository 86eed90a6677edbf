import { randomUUID } from 'node:crypto'
import { backoffMs, consecutiveCrashes } from '../backoff.ts'
import { Timers, type RuntimeClock } from '../clock.ts'
import type { ContainerSpec, ContainerState, RunOutcome, LastRun, Observation, Run, ContainerUsage } from '../driver.ts'
import { UNEXPECTED_EXIT_MESSAGE, IMAGE_MISSING_MESSAGE, exitMessage, isFinal } from '../exit-message.ts'
import { type SimBehaviour, sdkLine } from './behaviour.ts'
import type { SimLog } from './sim-log.ts'
import { progressAfter, secondsUntil, usageAfter, type SimProgress } from './sim-progress.ts'

const KILLED = 137
const TERMINATED = 143

export type SimContainerOptions = {
  clock: RuntimeClock
  workload: string
  spec: ContainerSpec
  behaviour: SimBehaviour
  hasImage: () => boolean
  log: SimLog
  /** The history of the container with the same name that this one replaces. */
  history: SimHistory | undefined
  /** Called after the program has written output. */
  onOutput: () => void
  /** Called when the program has ended. */
  onStop: () => void
  /** Called when the container's state has changed. */
  onChange: () => void
}

/** Earlier runs of a container. `runCount` is also the ordinal of the next run, `lastRunUsage` the total usage of the last one. */
export type SimHistory = {
  runCount: number
  lastRun: LastRun | null
  lastRunUsage: { cpuSeconds: number; throttledSeconds: number }
}

const noUsage = { cpuSeconds: 0, throttledSeconds: 0 }

/** One simulated container. Its usage and progress need no timers: they are computed from the current time on demand. */
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
  #runsSinceCreation = 0
  #run: Run | null = null
  #hasReachedLastBlock = false
  readonly #timers: Timers
  #isStopped = false

  constructor(options: SimContainerOptions) {
    this.#options = options
    this.spec = options.spec
    this.log = options.log
    this.#since = options.clock.now()
    this.#timers = new Timers(options.clock)
    this.#history = options.history ?? { runCount: 0, lastRun: null, lastRunUsage: noUsage }
    this.scheduleStart()
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

  scheduleStart(): void {
    const { behaviour, hasImage } = this.#options
    const problem = hasImage() ? behaviour.cannotStart : IMAGE_MISSING_MESSAGE
    if (problem) this.#fail('failed', problem)
    else if (behaviour.startMs) this.#timers.after(behaviour.startMs, () => this.#start())
    else this.#start()
  }

  /** See `Runtime.retry`. */
  retry(reason: string): void {
    if (this.#state !== 'finished' || this.spec.restart === 'never') return
    if (this.#history.lastRun) this.#history.lastRun = { ...this.#history.lastRun, how: 'error' }
    this.#fail('backoff', reason)
  }

  /** Stops the program but keeps the container, so that `resume` can start it again. */
  stop(): void {
    this.#isStopped = true
    this.#timers.cancelAll()
    this.#closeRun({ exitCode: TERMINATED, how: 'stopped' })
    if (this.#state === 'running') this.#enter('starting')
  }

  resume(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    if (this.#state === 'starting') this.scheduleStart()
    else if (this.#retryAt)
      this.#timers.after(this.#retryAt.getTime() - this.#now().getTime(), () => this.scheduleStart())
  }

  observation(): Omit<Observation, 'hostLostSince'> {
    return {
      workload: this.#options.workload,
      container: this.spec.name,
      state: this.#state,
      since: this.#since,
      run: this.#run,
      lastRun: this.#history.lastRun,
      retryAt: this.#retryAt,
      reason: this.#reason,
      diskFullSince: null,
    }
  }

  /** Returns the usage of the current or last run; null if the container has never run. */
  usage(): ContainerUsage | null {
    const { resources } = this.spec
    const run = this.#run ?? this.#history.lastRun
    if (!run) return null
    return {
      workload: this.#options.workload,
      container: this.spec.name,
      run: run.id,
      at: this.#now(),
      ...(this.#run ? this.#usageOfRun(this.#run) : { ...this.#history.lastRunUsage, memoryBytes: 0 }),
      memoryLimitBytes: resources.memoryBytes,
      cpuLimitCores: resources.cpuCores,
      oomKills: this.#run ? 0 : (this.#history.lastRun?.oomKills ?? null),
    }
  }

  /** Returns the progress of a processor; null for other containers. */
  progress(): SimProgress | null {
    const { sync } = this.#options.behaviour
    return sync ? progressAfter(sync, this.isRunning ? this.#elapsedMs() / 1000 : 0) : null
  }

  #start(): void {
    const { behaviour } = this.#options
    this.#run = { id: randomUUID(), ordinal: this.#history.runCount++, startedAt: this.#now(), node: null }
    this.#runsSinceCreation++
    this.#enter('running')
    for (const line of behaviour.print ?? []) this.log.write(line, this.#now())
    this.log.writePart(behaviour.printLast ?? '')
    this.#options.onOutput()
    this.#printPeriodically(1)
    this.#scheduleEnd()
  }

  #scheduleEnd(): void {
    const { ends, endingRuns = Infinity, usage } = this.#options.behaviour
    const growth = usage?.memoryGrowthBytesPerSecond ?? 0
    const msUntilFull =
      usage && growth > 0 ? ((this.spec.resources.memoryBytes - usage.memoryBytes) / growth) * 1000 : Infinity
    if (msUntilFull < Infinity) this.#timers.after(msUntilFull, () => this.#end(KILLED, true))
    this.#scheduleLastBlock()
    if (!ends || this.#runsSinceCreation > endingRuns) return
    this.#timers.after(ends.afterMs, () =>
      'exitCode' in ends ? this.#end(ends.exitCode, false) : this.#end(KILLED, true),
    )
  }

  #scheduleLastBlock(): void {
    const { sync } = this.#options.behaviour
    if (sync?.toBlock === undefined) return
    if (this.#hasReachedLastBlock) {
      this.log.write(sdkLine('sqd:processor', 'nothing to do'), this.#now())
      this.#options.onOutput()
    }
    const ms = this.#hasReachedLastBlock ? 0 : secondsUntil(sync, sync.toBlock) * 1000
    if (ms === Infinity) return
    this.#timers.after(ms, () => {
      this.#hasReachedLastBlock = true
      this.#end(0, false)
    })
  }

  #printPeriodically(count: number): void {
    const { periodicOutput } = this.#options.behaviour
    if (!periodicOutput) return
    this.#timers.after(periodicOutput.everyMs, () => {
      this.log.write(periodicOutput.text.replaceAll('{n}', String(count)), this.#now())
      this.#options.onOutput()
      this.#printPeriodically(count + 1)
    })
  }

  #end(exitCode: number, outOfMemory: boolean): void {
    const elapsedMs = this.#elapsedMs()
    const isDone = exitCode === 0 && isFinal(this.spec.restart, exitCode)
    this.#timers.cancelAll()
    this.#closeRun({ exitCode, how: outOfMemory ? 'oom' : isDone ? 'done' : 'error' })
    const reason = exitMessage(exitCode, outOfMemory)
    const crashes = consecutiveCrashes(this.#crashes, elapsedMs)
    if (!isFinal(this.spec.restart, exitCode)) return this.#fail('backoff', reason ?? UNEXPECTED_EXIT_MESSAGE, crashes)
    this.#crashes = crashes - 1
    this.#enter('finished', reason)
  }

  #fail(state: 'backoff' | 'failed', reason: string | null, crashes = this.#crashes + 1): void {
    this.#crashes = crashes
    this.#enter(state, reason)
    if (this.spec.restart === 'never') return
    const ms = backoffMs(crashes)
    this.#retryAt = new Date(this.#now().getTime() + ms)
    this.#timers.after(ms, () => this.scheduleStart())
  }

  #closeRun(end: { exitCode: number; how: RunOutcome }): void {
    if (this.#run) {
      const { cpuSeconds, throttledSeconds } = this.#usageOfRun(this.#run)
      this.#history.lastRunUsage = { cpuSeconds, throttledSeconds }
      this.#history.lastRun = { ...this.#run, ...end, endedAt: this.#now(), oomKills: end.how === 'oom' ? 1 : 0 }
      this.#run = null
    }
    this.log.terminateLastLine(this.#now())
    this.#options.onOutput()
    this.#options.onStop()
  }

  #usageOfRun({ startedAt }: Run) {
    const seconds = (this.#now().getTime() - startedAt.getTime()) / 1000
    return usageAfter(this.#options.behaviour, this.spec.resources, seconds)
  }

  #enter(state: ContainerState, reason: string | null = null): void {
    this.#state = state
    this.#since = this.#now()
    this.#reason = reason
    this.#retryAt = null
    this.#options.onChange()
  }

  #elapsedMs(): number {
    return this.#now().getTime() - this.#since.getTime()
  }

  #now(): Date {
    return this.#options.clock.now()
  }
}
