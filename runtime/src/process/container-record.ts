import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerSpec, ContainerState, LastRun, Workload } from '../driver.ts'
import { errorCode } from '../error-code.ts'
import type { CgroupBase, RunCounters } from './cgroup-files.ts'
import { replaceFile } from './replace-file.ts'

/** The desired state of one container. Most changes require a new container; see `desiredKey`. */
export type DesiredContainer = Pick<Workload, 'tenant' | 'version' | 'image' | 'limitedConnections'> & {
  spec: ContainerSpec
}

/** Returns a key that changes when a desired state requires a new container. Ignores the grace period and the order of the environment. */
export function desiredKey({ tenant, version, image, spec }: DesiredContainer): string {
  const { name, command, env, resources, restart, ports, provided } = spec
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
    ...(provided ? [provided] : []),
  ]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** A `Run` and a `LastRun` as JSON, with ISO times. */
export type RecordedRun = { id: string; ordinal: number; startedAt: string }
export type RecordedEnd = RecordedRun & Pick<LastRun, 'exitCode' | 'how' | 'oomKills'> & { endedAt: string }

/** The state of a container, stored on disk for later servers. */
export type ContainerRecord = {
  /** `desiredKey` of the desired state. A desired state with another key replaces the container. */
  key: string
  state: ContainerState
  /** ISO times. */
  since: string
  retryAt: string | null
  reason: string | null
  /** See `Observation.diskFullSince`; missing in records of earlier releases. */
  diskFullSince?: string | null
  /** Number of consecutive failures, for the backoff. */
  crashes: number
  /** Number of the latest run's directory; 0: never run. */
  run: number
  /** Number of runs that have started, which is the ordinal of the next run. */
  begun: number
  /** The run that is running or about to start. */
  current: RecordedRun | null
  lastRun: RecordedEnd | null
  /** Total usage of `lastRun`; null: unknown. */
  used: RunCounters | null
  /** Counters of the cgroup and position (see `LogStart`) of the log at the start of the latest run. */
  countedBefore: RunCounters
  logBytesBefore: number
  /** The grace period of the latest desired state. Recorded, because removing a container deletes its desired state first. */
  stopGraceMs: number
  /** Location of the container's cgroup; null without cgroups. */
  cgroups: CgroupBase | null
  uid: number | null
  logId: string
}

const zeroCounters: RunCounters = { cpuSeconds: 0, throttledSeconds: 0, oomKills: 0 }

/** Creates the record of a new container, which continues the log and the numbering of the previous container with its name. */
export function newRecord(
  key: string,
  now: Date,
  { stopGraceMs, previous }: { stopGraceMs: number; previous: ContainerRecord | null },
): ContainerRecord {
  return {
    key,
    state: 'starting',
    since: now.toISOString(),
    retryAt: null,
    reason: null,
    crashes: 0,
    run: previous?.run ?? 0,
    begun: previous?.begun ?? 0,
    current: null,
    lastRun: previous?.lastRun ?? null,
    used: previous?.used ?? null,
    countedBefore: zeroCounters,
    logBytesBefore: 0,
    stopGraceMs,
    cgroups: null,
    uid: previous?.uid ?? null,
    logId: previous?.logId ?? randomBytes(6).toString('hex'),
  }
}

/** Creates the record of a run that starts now. */
export const newRun = ({ begun }: ContainerRecord, now: Date): RecordedRun => ({
  id: randomUUID(),
  ordinal: begun,
  startedAt: now.toISOString(),
})

/** Returns the current run; null when it has not started yet. */
export const currentRun = ({ state, current }: ContainerRecord): RecordedRun | null =>
  state === 'running' ? current : null

/** The format of earlier releases, which had counters instead of runs. */
type CountingRecord = Omit<
  ContainerRecord,
  'begun' | 'current' | 'lastRun' | 'used' | 'countedBefore' | 'stopGraceMs'
> & {
  isRunOpen: boolean
  exitCode: number | null
  outOfMemory: boolean
  oomKillsBefore: number
}

/** Reads a record; null when there is none. Records of earlier releases are converted with new run ids, so the caller must save them. */
export function readRecord(file: string): ContainerRecord | null {
  const stored = readRecordFile(file) as ContainerRecord | CountingRecord | null
  if (stored === null || 'begun' in stored) return stored
  const { isRunOpen, exitCode, outOfMemory, oomKillsBefore, ...commonFields } = stored
  const { run, state, since } = commonFields
  const runAt = (ordinal: number): RecordedRun => ({
    id: randomUUID(),
    ordinal: Math.max(0, ordinal),
    startedAt: since,
  })
  const how = outOfMemory ? 'oom' : state === 'finished' && exitCode === 0 ? 'done' : 'error'
  return {
    ...commonFields,
    begun: isRunOpen && state !== 'running' ? run - 1 : run,
    current: isRunOpen ? runAt(run - 1) : null,
    lastRun:
      exitCode === null ? null : { ...runAt(run - (isRunOpen ? 2 : 1)), exitCode, how, endedAt: since, oomKills: null },
    used: null,
    countedBefore: { ...zeroCounters, oomKills: oomKillsBefore },
    stopGraceMs: STOP_GRACE_MS,
  }
}

/** Stop grace period of containers for which none is recorded. */
export const STOP_GRACE_MS = 5000

/** `<stateDir>/containers/<workload>/` contains the desired state, `workload.json`, and a directory for each container. */
export const WORKLOAD_FILE = 'workload.json'
export const workloadsDirIn = (stateDir: string): string => join(stateDir, 'containers')

/**
 * Returns the paths of the files of one container. Its directory is traversable; everything except the folders on its disk is private to the
 * server.
 */
export function containerFiles(dir: string) {
  return {
    dir,
    record: join(dir, 'record.json'),
    log: join(dir, 'log'),
    /** The mount point of the disk that contains everything the container writes, and the image of that disk. */
    disk: join(dir, 'disk'),
    diskImage: join(dir, 'disk.img'),
    home: join(dir, 'disk/home'),
    tmp: join(dir, 'disk/tmp'),
    workFolder: join(dir, 'disk/work-folder'),
    runs: join(dir, 'runs'),
    run: (number: number) => join(dir, 'runs', String(number)),
  }
}

/** The folders on a container's disk. Earlier releases, which had no disks, stored them in the container's directory. */
export const DISK_FOLDERS = ['home', 'tmp', 'work-folder']

export type ContainerFiles = ReturnType<typeof containerFiles>

/** Replaces a JSON file atomically. */
export function writeRecordFile(file: string, value: unknown): void {
  replaceFile(file, JSON.stringify(value))
}

/** Reads a JSON file; null when it is missing or invalid (after a power failure during a write). */
export function readRecordFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return null
    throw error
  }
}

/** Encodes an id as a safe file name, which `idOfFileName` decodes. */
export const fileNameOf = (id: string): string => encodeURIComponent(id).replace(/^\./, '%2E')
export const idOfFileName = (name: string): string => decodeURIComponent(name)

/** Creates a directory that others may traverse but not list. */
export function makeTraversable(dir: string): void {
  mkdirSync(dir, { recursive: true })
  chmodSync(dir, 0o711)
}

export function removeTree(dir: string): void {
  rmSync(dir, { recursive: true, force: true })
}
