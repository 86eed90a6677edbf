import { consecutiveCrashes } from '../backoff.ts'
import type { Timer } from '../clock.ts'
import type { Observation, ContainerUsage } from '../driver.ts'
import { UNEXPECTED_EXIT_MESSAGE, isFinal } from '../exit-message.ts'
import { StartError } from './container-program.ts'
import { type ContainerRecord, type DesiredContainer, desiredKey, newRun } from './container-record.ts'
import {
  type ContainerContext,
  cleanUpRun,
  endStartUp,
  killOrphans,
  releaseHostResources,
  prepareRun,
  stopRun,
} from './container-run.ts'
import { RecordedContainer } from './container-state.ts'
import { usageOf } from './container-views.ts'
import { RunMeter } from './container-usage.ts'
import type { ProcessInfo } from './processes.ts'
import { diskFullAtEnd, endMessage, measureDisk } from './disk/full-disk.ts'
import { lastLines } from './run-log.ts'
import { type WatchedRun, adoptRun, startRun } from './run.ts'

/**
 * Reconciles one container with its desired state, step by step. Each step is recorded on disk before it is done, so that the server
 * may be killed at any point, and the next server continues.
 */
export class Container {
  readonly workload: string
  readonly name: string
  readonly #context: ContainerContext
  readonly #meter: RunMeter
  readonly #state: RecordedContainer
  #desired: DesiredContainer | null = null
  #run: WatchedRun | null = null
  #retryTimer: Timer | null = null
  #startUpTimer: Timer | null = null
  #steps: Promise<void> = Promise.resolve()
  #isDetached = false

  constructor(context: ContainerContext, workload: string, name: string) {
    this.#context = context
    this.workload = workload
    this.name = name
    this.#state = new RecordedContainer(context, workload, name)
    this.#meter = new RunMeter(context)
  }

  /** Adopts the container of an earlier server, with the desired state that was recorded. Must be called before all other methods. */
  async adopt(desired: DesiredContainer | null): Promise<void> {
    this.#desired = desired
    const record = this.#state.load()
    if (!record) return killOrphans(this.#context)
    if (!record.current) return
    const adopted = await adoptRun(this.#context.files.run(record.run))
    if (adopted === 'never started') this.#state.save({ current: null })
    else if ('exitCode' in adopted) await this.#recordExit(adopted.exitCode)
    else this.#watch(adopted)
  }

  /** Sets the desired state; null: remove the container. Resolves when it is applied, or when the attempt has failed. */
  setDesired(desired: DesiredContainer | null): Promise<void> {
    this.#desired = desired
    return this.#step(() => this.#reconcile())
  }

  /** See `Runtime.retry`. */
  retry(reason: string): Promise<void> {
    return this.#step(async () => {
      const record = this.#state.record
      if (record?.state !== 'finished' || this.#desired?.spec.restart === 'never') return
      const lastRun = record.lastRun && { ...record.lastRun, how: 'error' as const }
      this.#state.enter('backoff', { reason, lastRun, ...this.#state.nextTry(record.crashes + 1) })
      this.#scheduleRetry()
    })
  }

  /** Stops the program and detaches from the container. The next server starts the program again. */
  async stop(): Promise<void> {
    await this.#step(async () => {
      if (this.#run) await this.#endRun(this.#run)
      if (!this.#state.record) return
      this.#state.save(await releaseHostResources(this.#context, this.#state.record))
    })
    await this.detach()
  }

  /** Stops managing the container, whose program continues. */
  async detach(): Promise<void> {
    this.#isDetached = true
    this.#retryTimer?.cancel()
    this.#startUpTimer?.cancel()
    await this.#steps
    this.#run?.detach()
  }

  /** Pid of the current run's shim; null when there is no run. */
  get shim(): number | null {
    return this.#run?.shim.pid ?? null
  }

  /** Null until the first desired state is applied. */
  observation(): Observation | null {
    return this.#state.observation()
  }

  /** Measures the usage; null if the container has never run. `listAll`: lists every process of the host, called only without cgroups. */
  usage(at: Date, listAll: () => ProcessInfo[]): ContainerUsage | null {
    const [record, desired] = [this.#state.record, this.#desired]
    if (!record || !desired) return null
    const { resources: limits } = desired.spec
    const measure = () => this.#meter.measure(record, this.#run, listAll)
    return usageOf({ names: this.#state.names, at, record, limits, measure })
  }

  /** Measures the disk of the running program, and records since when it has been full. */
  async checkDisk(): Promise<void> {
    const [run, record] = [this.#run, this.#state.record]
    if (!run || !record) return
    const changes = await measureDisk(this.#context, record, run)
    if (this.#run === run && 'diskFullSince' in changes) this.#state.save(changes)
  }

  lastLines(count: number): string[] {
    return this.#state.record ? lastLines(this.#context.files.log, count) : []
  }

  /** Runs a step after all earlier ones. */
  #step(work: () => Promise<void>): Promise<void> {
    this.#steps = this.#steps
      .then(() => (this.#isDetached ? undefined : work()))
      // The host failed, for example because of a full disk or an unkillable process. This is reported and retried like a crash.
      .catch((error: unknown) => this.#fail(`The host failed: ${String(error)}`))
    return this.#steps
  }

  async #reconcile(): Promise<void> {
    const desired = this.#desired
    const needsReplacement = !desired || this.#state.record?.key !== desiredKey(desired)
    if (needsReplacement && this.#run) await this.#endRun(this.#run)
    if (!desired) {
      this.#retryTimer?.cancel()
      return this.#state.remove()
    }
    if (needsReplacement) this.#state.renew(desired)
    else if (this.#state.record?.stopGraceMs !== desired.spec.stopGraceMs)
      this.#state.save({ stopGraceMs: desired.spec.stopGraceMs })
    if (!this.#run && this.#state.isDue()) await this.#start(desired)
    this.#scheduleRetry()
  }

  async #start(desired: DesiredContainer): Promise<void> {
    if (!this.#state.record) return
    try {
      const { start, changes } = await prepareRun(this.#context, desired, this.#state.record)
      this.#state.save({ ...changes, current: newRun(this.#state.record, this.#state.now()) })
      this.#meter.reset()
      this.#watch(await startRun(start))
    } catch (error) {
      this.#fail(error instanceof StartError ? error.message : `The host could not start it: ${String(error)}`)
    }
  }

  #watch(run: WatchedRun): void {
    this.#run = run
    const record = this.#state.record
    if (record?.current && record.state !== 'running')
      this.#state.enter('running', { begun: record.current.ordinal + 1, reason: null })
    this.#limitStartUp(run)
    void run.ended.then((exitCode) =>
      this.#step(async () => {
        if (this.#run !== run) return
        await this.#recordExit(exitCode)
        await this.#reconcile()
      }),
    )
  }

  /** Schedules the end of the start-up time, which may already have passed for an adopted run. */
  #limitStartUp(run: WatchedRun): void {
    const { hostContext } = this.#context
    const sinceMs = this.#state.record ? new Date(this.#state.record.since).getTime() : 0
    const applyProfileLimits = async () => {
      if (this.#run === run && this.#desired && this.#state.record)
        endStartUp(this.#context, this.#desired, this.#state.record)
    }
    const remainingMs = Math.max(0, sinceMs + hostContext.startUpMs - this.#state.now().getTime())
    this.#startUpTimer = hostContext.clock.setTimeout(() => void this.#step(applyProfileLimits), remainingMs)
  }

  /** Stops the run, unless it has just ended on its own, and returns the container to its state before the start. */
  async #endRun(run: WatchedRun): Promise<void> {
    const isStopped = !run.hasEnded()
    if (!this.#state.record) return
    const ended = await this.#closeRun(await stopRun(this.#context, this.#state.record, run), isStopped)
    this.#state.enter('starting', { reason: null, ...ended })
  }

  /** Records a run that ended on its own: the container is finished, or will be restarted with backoff. */
  async #recordExit(exitCode: number | null): Promise<void> {
    const ended = await this.#closeRun(exitCode, false)
    const { lastRun } = ended
    if (!this.#state.record || !lastRun) return
    const reason = endMessage(this.#context, lastRun, ended)
    const ranMs = new Date(lastRun.endedAt).getTime() - new Date(lastRun.startedAt).getTime()
    const crashes = consecutiveCrashes(this.#state.record.crashes, ranMs)
    if (isFinal(this.#desired?.spec.restart, lastRun.exitCode))
      this.#state.enter('finished', { reason, ...ended, crashes: crashes - 1 })
    else
      this.#state.enter('backoff', {
        reason: reason ?? UNEXPECTED_EXIT_MESSAGE,
        ...ended,
        ...this.#state.nextTry(crashes),
      })
  }

  /** Cleans up after a run. Resolves with changes to the record, which the caller saves together with the next state. */
  async #closeRun(exitCode: number | null, isStopped: boolean): Promise<Partial<ContainerRecord>> {
    const record = this.#state.record
    if (!record) return {}
    this.#startUpTimer?.cancel()
    await cleanUpRun(this.#context, record, this.#run)
    this.#run = null
    if (!record.current) return {}
    const restart = this.#desired?.spec.restart
    const { lastRun, used } = this.#meter.end(record, record.current, { exitCode, isStopped, restart })
    const changes = diskFullAtEnd(this.#context, record, lastRun)
    return { current: null, begun: lastRun.ordinal + 1, lastRun, used, ...changes }
  }

  #fail(reason: string): void {
    const { crashes = 0, current = null } = this.#state.record ?? {}
    const willRetry = this.#desired?.spec.restart !== 'never'
    this.#state.enter('failed', {
      reason,
      current: this.#run ? current : null,
      ...(willRetry ? this.#state.nextTry(crashes + 1) : {}),
    })
    this.#scheduleRetry()
  }

  #scheduleRetry(): void {
    this.#retryTimer?.cancel()
    const retryAt = this.#state.record?.retryAt
    if (!retryAt || this.#isDetached) return
    const ms = Math.max(0, new Date(retryAt).getTime() - this.#state.now().getTime())
    this.#retryTimer = this.#context.hostContext.clock.setTimeout(() => void this.#step(() => this.#reconcile()), ms)
  }
}
