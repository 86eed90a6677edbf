import { crashesInARow } from '../backoff.ts'
import type { Timer } from '../clock.ts'
import type { Observation, ContainerUsage } from '../driver.ts'
import { ENDED, exitMessage, isFinal } from '../exit-message.ts'
import { StartError } from './container-program.ts'
import { type ContainerRecord, type DesiredContainer, desiredKey, newRun } from './container-record.ts'
import {
  type ContainerContext,
  cleanUpRun,
  containerCgroup,
  countedInRun,
  endOf,
  endStartUp,
  killOrphans,
  releaseHostResources,
  prepareRun,
  programTree,
  stopRun,
} from './container-run.ts'
import { ContainerState } from './container-state.ts'
import { usageOf } from './container-views.ts'
import { ProcessMeter, type RunUsage } from './container-usage.ts'
import type { ProcessInfo } from './processes.ts'
import { lastLines } from './run-log.ts'
import { type Run, adoptRun, startRun } from './run.ts'
import { SurvivedKills } from './survived-kills.ts'

/**
 * Reconciles one container with its desired state, step by step. Each step is recorded on disk before it is done, so that the server
 * may be killed at any point and the next one continues.
 */
export class Container {
  readonly workload: string
  readonly name: string
  readonly #context: ContainerContext
  readonly #meter = new ProcessMeter()
  readonly #state: ContainerState
  readonly #survivedKills = new SurvivedKills()
  #desired: DesiredContainer | null = null
  #run: Run | null = null
  #retry: Timer | null = null
  #startUpTimer: Timer | null = null
  #steps: Promise<void> = Promise.resolve()
  #isDetached = false

  constructor(context: ContainerContext, workload: string, name: string) {
    this.#context = context
    this.workload = workload
    this.name = name
    this.#state = new ContainerState(context, workload, name)
  }

  /** Adopts the container of an earlier server with its desired state of that time. Call before everything else. */
  async adopt(desired: DesiredContainer | null): Promise<void> {
    this.#desired = desired
    const record = this.#state.load()
    if (!record) return killOrphans(this.#context)
    if (!record.current) return
    const found = await adoptRun(this.#context.files.run(record.run))
    if (found === 'never started') this.#state.save({ current: null })
    else if ('exitCode' in found) await this.#handleExit(found.exitCode)
    else this.#watch(found)
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
      this.#planRetry()
    })
  }

  /** Stops the program and detaches; the next server starts it again. */
  async stop(): Promise<void> {
    await this.#step(async () => {
      if (this.#run) await this.#endRun(this.#run)
      if (!this.#state.record) return
      this.#state.save(await releaseHostResources(this.#context, this.#state.record))
    })
    await this.detach()
  }

  /** Stops managing the container; the program continues. */
  async detach(): Promise<void> {
    this.#isDetached = true
    this.#retry?.cancel()
    this.#startUpTimer?.cancel()
    await this.#steps
    this.#run?.detach()
  }

  /** Pid of the shim, the top process of the current run; null when nothing runs. */
  get shim(): number | null {
    return this.#run?.shim.pid ?? null
  }

  /** Null before the first desired state was applied. */
  observation(): Observation | null {
    return this.#state.observation()
  }

  /** `all`: lists every process of the host; only called without cgroups. */
  usage(at: Date, all: () => ProcessInfo[]): ContainerUsage | null {
    const [record, desired] = [this.#state.record, this.#desired]
    if (!record || !desired) return null
    const { resources: limits } = desired.spec
    return usageOf({ names: this.#state.names, at, record, limits, measure: () => this.#measure(record, all) })
  }

  #measure(record: ContainerRecord, all: () => ProcessInfo[]): RunUsage {
    const counted = containerCgroup(this.#context, record)?.usage()
    if (!counted) return this.#meter.measure(programTree(this.#context, record, this.#run), all())
    const inRun = countedInRun(record, counted)
    this.#survivedKills.record(inRun.oomKills, this.#state.now().getTime())
    return { ...inRun, memoryBytes: counted.memoryBytes }
  }

  lastLines(count: number): string[] {
    return this.#state.record ? lastLines(this.#context.files.log, count) : []
  }

  /** Serializes all steps. */
  #step(work: () => Promise<void>): Promise<void> {
    this.#steps = this.#steps
      .then(() => (this.#isDetached ? undefined : work()))
      // A failure of the host, such as a full disk or an unkillable process. It is reported, and retried like a crash.
      .catch((error: unknown) => this.#fail(`The host failed: ${String(error)}`))
    return this.#steps
  }

  async #reconcile(): Promise<void> {
    const desired = this.#desired
    const isOther = !desired || this.#state.record?.key !== desiredKey(desired)
    if (isOther && this.#run) await this.#endRun(this.#run)
    if (!desired) {
      this.#retry?.cancel()
      return this.#state.remove()
    }
    if (isOther) this.#state.renew(desired)
    else if (this.#state.record?.stopGraceMs !== desired.spec.stopGraceMs)
      this.#state.save({ stopGraceMs: desired.spec.stopGraceMs })
    if (!this.#run && this.#state.isDue()) await this.#start(desired)
    this.#planRetry()
  }

  async #start(desired: DesiredContainer): Promise<void> {
    if (!this.#state.record) return
    try {
      const { start, changes } = await prepareRun(this.#context, desired, this.#state.record)
      this.#state.save({ ...changes, current: newRun(this.#state.record, this.#state.now()) })
      this.#survivedKills.reset()
      this.#meter.reset()
      this.#watch(await startRun(start))
    } catch (error) {
      this.#fail(error instanceof StartError ? error.message : `The host could not start it: ${String(error)}`)
    }
  }

  #watch(run: Run): void {
    this.#run = run
    const record = this.#state.record
    if (record?.current && record.state !== 'running')
      this.#state.enter('running', { begun: record.current.ordinal + 1, reason: null })
    this.#limitStartUp(run)
    void run.ended.then((exitCode) =>
      this.#step(async () => {
        if (this.#run !== run) return
        await this.#handleExit(exitCode)
        await this.#reconcile()
      }),
    )
  }

  /** Plans the end of the start-up time, which may have passed for an adopted run. */
  #limitStartUp(run: Run): void {
    const { hostContext } = this.#context
    const sinceMs = this.#state.record ? new Date(this.#state.record.since).getTime() : 0
    const end = async () => {
      if (this.#run === run && this.#desired && this.#state.record)
        endStartUp(this.#context, this.#desired, this.#state.record)
    }
    const leftMs = Math.max(0, sinceMs + hostContext.startUpMs - this.#state.now().getTime())
    this.#startUpTimer = hostContext.clock.setTimeout(() => void this.#step(end), leftMs)
  }

  /** Stops the run, if it has not just ended on its own, and returns the container to its state before the start. */
  async #endRun(run: Run): Promise<void> {
    const isStopped = !run.hasEnded()
    if (!this.#state.record) return
    const ended = await this.#closeRun(await stopRun(this.#context, this.#state.record, run), isStopped)
    this.#state.enter('starting', { reason: null, ...ended })
  }

  /** Handles a run that ended on its own: the container is finished, or retried with backoff. */
  async #handleExit(exitCode: number | null): Promise<void> {
    const ended = await this.#closeRun(exitCode, false)
    const { lastRun } = ended
    if (!this.#state.record || !lastRun) return
    const reason = exitMessage(lastRun.exitCode, lastRun.how === 'oom')
    const ranMs = new Date(lastRun.endedAt).getTime() - new Date(lastRun.startedAt).getTime()
    const crashes = crashesInARow(this.#state.record.crashes, ranMs)
    if (isFinal(this.#desired?.spec.restart, lastRun.exitCode))
      this.#state.enter('finished', { reason, ...ended, crashes: crashes - 1 })
    else this.#state.enter('backoff', { reason: reason ?? ENDED, ...ended, ...this.#state.nextTry(crashes) })
  }

  /** Cleans up after a run. Resolves with changes to the record, to be saved together with the next state. */
  async #closeRun(exitCode: number | null, isStopped: boolean): Promise<Partial<ContainerRecord>> {
    const record = this.#state.record
    if (!record) return {}
    this.#startUpTimer?.cancel()
    await cleanUpRun(this.#context, record, this.#run)
    this.#run = null
    if (!record.current) return {}
    const counted = containerCgroup(this.#context, record)?.usage()
    const survived = this.#survivedKills.at(this.#state.now().getTime())
    const restart = this.#desired?.spec.restart
    const lastRun = endOf(this.#context, record, record.current, { exitCode, survived, isStopped, restart })
    const used = counted ? countedInRun(record, counted) : this.#meter.counted()
    return { current: null, begun: lastRun.ordinal + 1, lastRun, used: { ...used, oomKills: lastRun.oomKills } }
  }

  #fail(reason: string): void {
    const { crashes = 0, current = null } = this.#state.record ?? {}
    const willRetry = this.#desired?.spec.restart !== 'never'
    this.#state.enter('failed', {
      reason,
      current: this.#run ? current : null,
      ...(willRetry ? this.#state.nextTry(crashes + 1) : {}),
    })
    this.#planRetry()
  }

  #planRetry(): void {
    this.#retry?.cancel()
    const retryAt = this.#state.record?.retryAt
    if (!retryAt || this.#isDetached) return
    const ms = Math.max(0, new Date(retryAt).getTime() - this.#state.now().getTime())
    this.#retry = this.#context.hostContext.clock.setTimeout(() => void this.#step(() => this.#reconcile()), ms)
  }
}
