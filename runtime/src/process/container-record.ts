import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerSpec, ContainerState, LastRun, Workload } from '../driver.ts'
import { errorCode } from '../error-code.ts'
import type { CgroupBase, RunCounters } from './cgroup-files.ts'

/** The desired state of one container. Most changes of it require a new container; see `desiredKey`. */
export type DesiredContainer = Pick<Workload, 'tenant' | 'version' | 'image'> & { spec: ContainerSpec }

/** Equal for desired states that do not require a new container: ignores the stop grace period and the order of the environment. */
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

/** A `Run` and a `LastRun` as JSON, with ISO times. */
export type RecordedRun = { id: string; ordinal: number; startedAt: string }
export type RecordedEnd = RecordedRun & Pick<LastRun, 'exitCode' | 'how' | 'oomKills'> & { endedAt: string }

/** The state of a container, stored on disk for later servers. */
export type ContainerRecord = {
  /** `desiredKey` of its desired state; a desired state with another key replaces the container. */
  key: string
  state: ContainerState
  /** ISO times. */
  since: string
  retryAt: string | null
  reason: string | null
  /** Number of consecutive failures, for the backoff. */
  crashes: number
  /** Number of the latest run's directory; 0: never run. */
  run: number
  /** How many runs have started; the ordinal of the next one. */
  begun: number
  /** The run that is running or about to start. */
  current: RecordedRun | null
  lastRun: RecordedEnd | null
  /** Total usage of `lastRun`; null: unknown. */
  used: RunCounters | null
  /** Counters of the cgroup and length of the log at the start of the latest run. */
  countedBefore: RunCounters
  logBytesBefore: number
  /** Of the latest desired state, so that it is known when the container is removed, also by a later server. */
  stopGraceMs: number
  /** Location of its cgroup; null without cgroups. */
  cgroups: CgroupBase | null
  uid: number | null
  logId: string
}

const zeroCounters: RunCounters = { cpuSeconds: 0, throttledSeconds: 0, oomKills: 0 }

/** A new container of the same name continues the log and the numbering of runs. */
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
    countedBefore: zeroCounters,
    logBytesBefore: 0,
    stopGraceMs,
    cgroups: null,
    uid: before?.uid ?? null,
    logId: before?.logId ?? randomBytes(6).toString('hex'),
  }
}

/** A run that starts now. */
export const newRun = ({ begun }: ContainerRecord, now: Date): RecordedRun => ({
  id: randomUUID(),
  ordinal: begun,
  startedAt: now.toISOString(),
})

/** The current run; null when it has not started yet. */
export const currentRun = ({ state, current }: ContainerRecord): RecordedRun | null =>
  state === 'running' ? current : null

/** Format of earlier releases, with counters instead of runs. */
type CountingRecord = Omit<
  ContainerRecord,
  'begun' | 'current' | 'lastRun' | 'used' | 'countedBefore' | 'stopGraceMs'
> & {
  isRunOpen: boolean
  exitCode: number | null
  outOfMemory: boolean
  oomKillsBefore: number
}

/** Null when there is no record. Converts records of earlier releases; their runs get new ids, so the result must be saved. */
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
    countedBefore: { ...zeroCounters, oomKills: oomKillsBefore },
    stopGraceMs: STOP_GRACE_MS,
  }
}

/** The desired state of a workload; null when it is to be removed. Earlier releases did not store the stop grace period. */
export function readDesired(file: string): Workload | null {
  const desired = readJson(file) as Workload | null
  return (
    desired && {
      ...desired,
      containers: desired.containers.map((spec) => ({ ...spec, stopGraceMs: spec.stopGraceMs ?? STOP_GRACE_MS })),
    }
  )
}

/** Default stop grace period of containers without a recorded one. */
export const STOP_GRACE_MS = 5000

/** `<stateDir>/containers/<workload>/` contains the desired state, `workload.json`, and a directory for each container. */
export const WORKLOAD_FILE = 'workload.json'
export const workloadsDirIn = (stateDir: string): string => join(stateDir, 'containers')

/** The files of one container. Its directory is traversable; everything except `home`, `tmp` and `workFolder` is private to the server. */
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

/** Replaces a JSON file atomically. */
export function writeJson(file: string, value: unknown): void {
  writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Null when the file is missing or not valid JSON (after a power failure during a write). */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return null
    throw error
  }
}

/** Encodes an id as a safe file name; `idOf` decodes it. */
export const nameOf = (id: string): string => encodeURIComponent(id).replace(/^\./, '%2E')
export const idOf = (name: string): string => decodeURIComponent(name)

/** Creates a directory that others may traverse but not list. */
export function makeTraversable(dir: string): void {
  mkdirSync(dir, { recursive: true })
  chmodSync(dir, 0o711)
}

export function removeTree(dir: string): void {
  rmSync(dir, { recursive: true, force: true })
}
