import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerSpec, ContainerState, LastRun, Workload } from '../driver.ts'
import { errorCode } from '../error-code.ts'
import type { CgroupBase, RunCounters } from './cgroup-files.ts'

/** What a container is made from: the part of the wish that, when it changes, makes another container of it. */
export type DesiredContainer = Pick<Workload, 'tenant' | 'version' | 'image'> & { spec: ContainerSpec }

/** Tells two wishes apart, but for how they are stopped; the order in which the environment is listed does not matter. */
export function desiredKey({ tenant, version, image, spec }: DesiredContainer): string {
  const { name, command, env, resources, restart, ports } = spec
  const parts = [
    tenant,
    version,
    image,
    name,
    command,
    Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1)),
    resources.cpuCores,
    resources.memoryBytes,
    restart,
    ports,
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** A `Run` and a `LastRun` as JSON: times are ISO texts. */
export type RecordedRun = { id: string; ordinal: number; startedAt: string }
export type RecordedEnd = RecordedRun & Pick<LastRun, 'exitCode' | 'how' | 'oomKills'> & { endedAt: string }

/** What is known of a container; on disk, so that a later server knows it too. */
export type ContainerRecord = {
  /** The wish it stands for; a wish with another key replaces it. */
  key: string
  state: ContainerState
  /** ISO times. */
  since: string
  retryAt: string | null
  reason: string | null
  /** Ends in a row that were failures, for the back-off alone. */
  crashes: number
  /** Number of the newest run's directory; 0: never run. */
  run: number
  /** How many runs have begun: the ordinal of the next. */
  begun: number
  /** The run that goes on, or is about to begin. */
  current: RecordedRun | null
  lastRun: RecordedEnd | null
  /** What `lastRun` had used when it ended; null: not known. */
  used: RunCounters | null
  /** What the cgroup had counted, and how long the log was, when the newest run began. */
  countedBefore: RunCounters
  logBytesBefore: number
  /** Of the newest wish: known when the container is removed, also by a later server. */
  stopGraceMs: number
  /** Where its cgroup is; null without. */
  cgroups: CgroupBase | null
  uid: number | null
  logId: string
}

const nothingCounted: RunCounters = { cpuSeconds: 0, throttledSeconds: 0, oomKills: 0 }

/** A container of the same name writes its log where the one before wrote, and its runs are counted on. */
export function newRecord(
  key: string,
  now: Date,
  { stopGraceMs, before }: { stopGraceMs: number; before: ContainerRecord | null },
): ContainerRecord {
  return {
    key,
    state: 'starting',
    since: now.toISOString(),
    retryAt: null,
    reason: null,
    crashes: 0,
    run: before?.run ?? 0,
    begun: before?.begun ?? 0,
    current: null,
    lastRun: before?.lastRun ?? null,
    used: before?.used ?? null,
    countedBefore: nothingCounted,
    logBytesBefore: 0,
    stopGraceMs,
    cgroups: null,
    uid: before?.uid ?? null,
    logId: before?.logId ?? randomBytes(6).toString('hex'),
  }
}

/** The run that begins now. */
export const newRun = ({ begun }: ContainerRecord, now: Date): RecordedRun => ({
  id: randomUUID(),
  ordinal: begun,
  startedAt: now.toISOString(),
})

/** The run that goes on; null for one that is only about to begin. */
export const runGoingOn = ({ state, current }: ContainerRecord): RecordedRun | null =>
  state === 'running' ? current : null

/** What earlier releases wrote: counters in the place of runs. */
type CountingRecord = Omit<
  ContainerRecord,
  'begun' | 'current' | 'lastRun' | 'used' | 'countedBefore' | 'stopGraceMs'
> & {
  isRunOpen: boolean
  exitCode: number | null
  outOfMemory: boolean
  oomKillsBefore: number
}

/** Null when there is no record. One of an earlier release becomes one of ours; its runs get new ids, so it must be saved. */
export function readRecord(file: string): ContainerRecord | null {
  const read = readJson(file) as ContainerRecord | CountingRecord | null
  if (read === null || 'begun' in read) return read
  const { isRunOpen, exitCode, outOfMemory, oomKillsBefore, ...kept } = read
  const { run, state, since } = kept
  const runAt = (ordinal: number): RecordedRun => ({
    id: randomUUID(),
    ordinal: Math.max(0, ordinal),
    startedAt: since,
  })
  const how = outOfMemory ? 'oom' : state === 'finished' && exitCode === 0 ? 'done' : 'error'
  return {
    ...kept,
    begun: isRunOpen && state !== 'running' ? run - 1 : run,
    current: isRunOpen ? runAt(run - 1) : null,
    lastRun:
      exitCode === null ? null : { ...runAt(run - (isRunOpen ? 2 : 1)), exitCode, how, endedAt: since, oomKills: null },
    used: null,
    countedBefore: { ...nothingCounted, oomKills: oomKillsBefore },
    stopGraceMs: STOP_GRACE_MS,
  }
}

/** What is wished of a workload; null when it is to be removed. Earlier releases did not write how long programs have to end. */
export function readDesired(file: string): Workload | null {
  const desired = readJson(file) as Workload | null
  return (
    desired && {
      ...desired,
      containers: desired.containers.map((spec) => ({ ...spec, stopGraceMs: spec.stopGraceMs ?? STOP_GRACE_MS })),
    }
  )
}

/** Of a container of which it is not known. */
export const STOP_GRACE_MS = 5000

/** `<stateDir>/containers/<workload>/` holds `workload.json`, the wish, and a directory for each container. */
export const WORKLOAD_FILE = 'workload.json'
export const workloadsDirIn = (stateDir: string): string => join(stateDir, 'containers')

/** The files of one container. Others may walk through its directory; everything but `home`, `tmp` and `workFolder` is ours alone. */
export function containerFiles(dir: string) {
  return {
    dir,
    record: join(dir, 'record.json'),
    log: join(dir, 'log'),
    home: join(dir, 'home'),
    tmp: join(dir, 'tmp'),
    workFolder: join(dir, 'work-folder'),
    runs: join(dir, 'runs'),
    run: (number: number) => join(dir, 'runs', String(number)),
  }
}

export type ContainerFiles = ReturnType<typeof containerFiles>

/** Replaces a JSON file in one step: whoever reads it sees the old or the new. */
export function writeJson(file: string, value: unknown): void {
  writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Null when there is no such file, or none that can be read (the power failed while it was written). */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return null
    throw error
  }
}

/** An id as a file name: nothing in it can lead elsewhere, and `idOf` gives it back. */
export const nameOf = (id: string): string => encodeURIComponent(id).replace(/^\./, '%2E')
export const idOf = (name: string): string => decodeURIComponent(name)

/** A directory others may walk through and not list. */
export function makeTraversable(dir: string): void {
  mkdirSync(dir, { recursive: true })
  chmodSync(dir, 0o711)
}

export function removeTree(dir: string): void {
  rmSync(dir, { recursive: true, force: true })
}
