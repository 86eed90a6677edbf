import { join } from 'node:path'
import { backoffMs } from '../backoff.ts'
import type { ContainerState as State, Observation } from '../driver.ts'
import {
  type ContainerRecord,
  type DesiredContainer,
  DISK_FOLDERS,
  desiredKey,
  makeTraversable,
  newRecord,
  readRecord,
  removeTree,
  writeRecordFile,
} from './container-record.ts'
import { type ContainerContext, removeFiles } from './container-run.ts'
import { removeDisk } from './disk/subvolume-disks.ts'
import { observationOf } from './container-views.ts'

/** The state of one container. Each change is recorded on disk before it takes effect. */
export class RecordedContainer {
  readonly names: { workload: string; container: string }
  readonly #context: ContainerContext
  #record: ContainerRecord | null = null

  constructor(context: ContainerContext, workload: string, container: string) {
    this.#context = context
    this.names = { workload, container }
  }

  /** Null until the first desired state is applied. */
  get record(): ContainerRecord | null {
    return this.#record
  }

  observation(): Observation | null {
    return this.#record && observationOf(this.names, this.#record)
  }

  /** Reads the record of an earlier server. */
  load(): ContainerRecord | null {
    this.#record = readRecord(this.#context.files.record)
    if (!this.#record) return null
    this.save({})
    this.#addLog(this.#record)
    return this.#record
  }

  save(changes: Partial<ContainerRecord>): void {
    if (!this.#record) return
    this.#record = { ...this.#record, ...changes }
    writeRecordFile(this.#context.files.record, this.#record)
  }

  /** Records that the container enters `state`, together with other changes. */
  enter(state: State, changes: Partial<ContainerRecord>): void {
    this.save({ retryAt: null, ...changes, state, since: this.now().toISOString() })
    this.#reportChange()
  }

  /** Replaces the previous container of the same name. */
  renew(desired: DesiredContainer): void {
    const { dir, disk, diskImage } = this.#context.files
    removeDisk(diskImage)
    for (const path of [disk, ...DISK_FOLDERS.map((name) => join(dir, name))]) removeTree(path)
    makeTraversable(dir)
    const { stopGraceMs } = desired.spec
    this.#record = newRecord(desiredKey(desired), this.now(), { stopGraceMs, previous: this.#record })
    this.save({})
    this.#addLog(this.#record)
  }

  /** Deletes all files of the container, whose programs must have ended. */
  async remove(): Promise<void> {
    await removeFiles(this.#context, this.#record)
    this.#record = null
    this.#reportChange()
  }

  /** True when the container must be started now. */
  isDue(): boolean {
    if (!this.#record) return false
    const { state, retryAt } = this.#record
    return state === 'starting' || (retryAt !== null && new Date(retryAt) <= this.now())
  }

  /** Returns the changes that schedule the next start after this number of consecutive crashes. */
  nextTry(crashes: number): Pick<ContainerRecord, 'crashes' | 'retryAt'> {
    return { crashes, retryAt: new Date(this.now().getTime() + backoffMs(crashes)).toISOString() }
  }

  #reportChange(): void {
    this.#context.hostContext.changes.add(this.names.workload, this.names.container)
  }

  #addLog({ logId }: ContainerRecord): void {
    const { hostContext, files } = this.#context
    hostContext.logs.add({ id: logId, ...this.names, file: files.log })
  }

  now(): Date {
    return this.#context.hostContext.clock.now()
  }
}
