import { backoffMs, crashesInARow } from '../backoff.ts'
import type { Timer } from '../clock.ts'
import type { ContainerState, Observation, ContainerUsage } from '../driver.ts'
import { ENDED, exitMessage, isFinal } from '../exit-message.ts'
import { StartError } from './container-program.ts'
import {
  type ContainerRecord,
  type DesiredContainer,
  makeTraversable,
  newRecord,
  newRun,
  readRecord,
  removeTree,
  desiredKey,
  writeJson,
} from './container-record.ts'
import {
  type ContainerContext,
  cleanUpRun,
  containerCgroup,
  countedInRun,
  endOf,
  endStartUp,
  killOrphans,
  removeFiles,
  releaseHostResources,
  prepareRun,
  programTree,
  stopRun,
} from './container-run.ts'
import { observationOf, usageOf } from './container-views.ts'
import { ProcessMeter, type RunUsage } from './container-usage.ts'
import type { ProcessInfo } from './processes.ts'
import { lastLines } from './run-log.ts'
import { type Run, adoptRun, startRun } from './run.ts'
import { SurvivedKills } from './survived-kills.ts'

/**
 * One container: brings what runs in line with what is wished, one step after the other. What it is about to do is on disk
 * before it does it, so that the server may be killed at any point and the next one goes on.
 */
export class Container {
  readonly workload: string
  readonly name: string
  readonly #place: ContainerContext
  readonly #meter = new ProcessMeter()
  readonly #survivedKills = new SurvivedKills()
  #wish: DesiredContainer | null = null
  #record: ContainerRecord | null = null
  #run: Run | null = null
  #retry: Timer | null = null
  #startUp: Timer | null = null
  #steps: Promise<void> = Promise.resolve()
  #isLetGo = false

  constructor(place: ContainerContext, workload: string, name: string) {
    this.#place = place
    this.workload = workload
    this.name = name
  }

  /** Takes up what an earlier server left; `wish` is what was wished then. Comes before everything else. */
  async adopt(desired: DesiredContainer | null): Promise<void> {
    this.#wish = desired
    this.#record = readRecord(this.#place.files.record)
    if (!this.#record) return killOrphans(this.#place)
    this.#save({})
    this.#keepLog(this.#record)
    if (!this.#record.current) return
    const found = await adoptRun(this.#place.files.run(this.#record.run))
    if (found === 'never began') this.#save({ current: null })
    else if ('exitCode' in found) await this.#conclude(found.exitCode)
    else this.#follow(found)
  }

  /** Null: it shall be gone. Answers when what is wished then is done, as far as that is in our hands. */
  setDesired(desired: DesiredContainer | null): Promise<void> {
    this.#wish = desired
    return this.#step(() => this.#settle())
  }

  /** See `Runtime.retry`. */
  retry(reason: string): Promise<void> {
    return this.#step(async () => {
      const record = this.#record
      if (record?.state !== 'finished' || this.#wish?.spec.restart === 'never') return
      const lastRun = record.lastRun && { ...record.lastRun, how: 'error' as const }
      this.#enter('backoff', { reason, lastRun, ...this.#nextTry(record.crashes + 1) })
      this.#planRetry()
    })
  }

  /** Ends the program and lets go; the next server starts it again. */
  async stop(): Promise<void> {
    await this.#step(async () => {
      if (this.#run) await this.#endRun(this.#run)
      if (!this.#record) return
      this.#save(await releaseHostResources(this.#place, this.#record))
    })
    await this.detach()
  }

  /** Does nothing more once this answers; the program goes on. */
  async detach(): Promise<void> {
    this.#isLetGo = true
    this.#retry?.cancel()
    this.#startUp?.cancel()
    await this.#steps
    this.#run?.detach()
  }

  /** What runs of it has this process at its top; null when nothing does. */
  get shim(): number | null {
    return this.#run?.shim.pid ?? null
  }

  /** Null before the first wish was taken up. */
  observation(): Observation | null {
    return this.#record && observationOf(this.#names(), this.#record)
  }

  /** `all`: every process of the host, looked up only when there are no cgroups. */
  usage(at: Date, all: () => ProcessInfo[]): ContainerUsage | null {
    const [record, desired] = [this.#record, this.#wish]
    if (!record || !desired) return null
    return usageOf(this.#names(), at, record, desired.spec.resources, () => this.#measure(record, all))
  }

  #measure(record: ContainerRecord, all: () => ProcessInfo[]): RunUsage {
    const counted = containerCgroup(this.#place, record)?.usage()
    if (!counted) return this.#meter.measure(programTree(this.#place, record, this.#run), all())
    const inRun = countedInRun(record, counted)
    this.#survivedKills.note(inRun.oomKills, this.#now().getTime())
    return { ...inRun, memoryBytes: counted.memoryBytes }
  }

  lastLines(count: number): string[] {
    return this.#record ? lastLines(this.#place.files.log, count) : []
  }

  /** One thing at a time. */
  #step(work: () => Promise<void>): Promise<void> {
    this.#steps = this.#steps
      .then(() => (this.#isLetGo ? undefined : work()))
      // Not the squid's fault: a full disk, a process that cannot be killed. It shows, and is tried again like a crash.
      .catch((error: unknown) => this.#cannot(`The host failed: ${String(error)}`))
    return this.#steps
  }

  async #settle(): Promise<void> {
    const desired = this.#wish
    const isOther = !desired || this.#record?.key !== desiredKey(desired)
    if (isOther && this.#run) await this.#endRun(this.#run)
    if (!desired) return this.#forget()
    if (isOther) this.#renew(desired)
    else if (this.#record?.stopGraceMs !== desired.spec.stopGraceMs)
      this.#save({ stopGraceMs: desired.spec.stopGraceMs })
    if (this.#isDue()) await this.#begin(desired)
    this.#planRetry()
  }

  async #forget(): Promise<void> {
    this.#retry?.cancel()
    await removeFiles(this.#place, this.#record)
    this.#record = null
    this.#place.hostContext.changes.note(this.workload, this.name)
  }

  /** A container of the same name takes the place of the one before. */
  #renew(desired: DesiredContainer): void {
    const { dir, home, tmp, workFolder } = this.#place.files
    for (const scratch of [home, tmp, workFolder]) removeTree(scratch)
    makeTraversable(dir)
    const { stopGraceMs } = desired.spec
    this.#record = newRecord(desiredKey(desired), this.#now(), { stopGraceMs, before: this.#record })
    this.#save({})
    this.#keepLog(this.#record)
  }

  #isDue(): boolean {
    const record = this.#record
    if (!record || this.#run) return false
    return record.state === 'starting' || (record.retryAt !== null && new Date(record.retryAt) <= this.#now())
  }

  async #begin(desired: DesiredContainer): Promise<void> {
    if (!this.#record) return
    try {
      const { start, changes } = await prepareRun(this.#place, desired, this.#record)
      this.#save({ ...changes, current: newRun(this.#record, this.#now()) })
      this.#survivedKills.reset()
      this.#meter.reset()
      this.#follow(await startRun(start))
    } catch (error) {
      this.#cannot(error instanceof StartError ? error.message : `The host could not start it: ${String(error)}`)
    }
  }

  #follow(run: Run): void {
    this.#run = run
    const record = this.#record
    if (record?.current && record.state !== 'running')
      this.#enter('running', { begun: record.current.ordinal + 1, reason: null })
    this.#limitStartUp(run)
    void run.ended.then((exitCode) =>
      this.#step(async () => {
        if (this.#run !== run) return
        await this.#conclude(exitCode)
        await this.#settle()
      }),
    )
  }

  /** An adopted run may be long past its start, or in the middle of it. */
  #limitStartUp(run: Run): void {
    const { hostContext } = this.#place
    const sinceMs = this.#record ? new Date(this.#record.since).getTime() : 0
    const end = async () => {
      if (this.#run === run && this.#wish && this.#record) endStartUp(this.#place, this.#wish, this.#record)
    }
    const leftMs = Math.max(0, sinceMs + hostContext.startUpMs - this.#now().getTime())
    this.#startUp = hostContext.clock.setTimeout(() => void this.#step(end), leftMs)
  }

  /** Ends the run because it is told to, unless it has just ended by itself. Then the container is as before its start. */
  async #endRun(run: Run): Promise<void> {
    const isStopped = !run.hasEnded()
    if (!this.#record) return
    const ended = await this.#closeRun(await stopRun(this.#place, this.#record, run), isStopped)
    this.#enter('starting', { reason: null, ...ended })
  }

  /** The run ended by itself: the container is finished, or waits for another try. */
  async #conclude(exitCode: number | null): Promise<void> {
    const ended = await this.#closeRun(exitCode, false)
    const { lastRun } = ended
    if (!this.#record || !lastRun) return
    const reason = exitMessage(lastRun.exitCode, lastRun.how === 'oom')
    const ranMs = new Date(lastRun.endedAt).getTime() - new Date(lastRun.startedAt).getTime()
    const crashes = crashesInARow(this.#record.crashes, ranMs)
    if (isFinal(this.#wish?.spec.restart, lastRun.exitCode))
      this.#enter('finished', { reason, ...ended, crashes: crashes - 1 })
    else this.#enter('backoff', { reason: reason ?? ENDED, ...ended, ...this.#nextTry(crashes) })
  }

  /** Cleans up what a run leaves. Answers what to remember of it; written together with the state that follows. */
  async #closeRun(exitCode: number | null, isStopped: boolean): Promise<Partial<ContainerRecord>> {
    const record = this.#record
    if (!record) return {}
    this.#startUp?.cancel()
    await cleanUpRun(this.#place, record, this.#run)
    this.#run = null
    if (!record.current) return {}
    const counted = containerCgroup(this.#place, record)?.usage()
    const survived = this.#survivedKills.at(this.#now().getTime())
    const restart = this.#wish?.spec.restart
    const lastRun = endOf(this.#place, record, record.current, { exitCode, survived, isStopped, restart })
    const used = counted ? countedInRun(record, counted) : this.#meter.counted()
    return { current: null, begun: lastRun.ordinal + 1, lastRun, used: { ...used, oomKills: lastRun.oomKills } }
  }

  #cannot(reason: string): void {
    const { crashes = 0, current = null } = this.#record ?? {}
    const isTriedAgain = this.#wish?.spec.restart !== 'never'
    this.#enter('failed', {
      reason,
      current: this.#run ? current : null,
      ...(isTriedAgain ? this.#nextTry(crashes + 1) : {}),
    })
    this.#planRetry()
  }

  #nextTry(crashes: number): Pick<ContainerRecord, 'crashes' | 'retryAt'> {
    return { crashes, retryAt: new Date(this.#now().getTime() + backoffMs(crashes)).toISOString() }
  }

  #planRetry(): void {
    this.#retry?.cancel()
    const retryAt = this.#record?.retryAt
    if (!retryAt || this.#isLetGo) return
    const ms = Math.max(0, new Date(retryAt).getTime() - this.#now().getTime())
    this.#retry = this.#place.hostContext.clock.setTimeout(() => void this.#step(() => this.#settle()), ms)
  }

  #enter(state: ContainerState, changes: Partial<ContainerRecord>): void {
    this.#save({ retryAt: null, ...changes, state, since: this.#now().toISOString() })
    this.#place.hostContext.changes.note(this.workload, this.name)
  }

  #save(changes: Partial<ContainerRecord>): void {
    if (!this.#record) return
    this.#record = { ...this.#record, ...changes }
    writeJson(this.#place.files.record, this.#record)
  }

  #keepLog({ logId }: ContainerRecord): void {
    const { hostContext, files } = this.#place
    hostContext.logs.add({ id: logId, workload: this.workload, container: this.name, file: files.log })
  }

  #names() {
    return { workload: this.workload, container: this.name }
  }

  #now(): Date {
    return this.#place.hostContext.clock.now()
  }
}
