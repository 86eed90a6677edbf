import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerSpec, ContainerState, Workload } from '../driver.ts'
import { errorCode } from '../error-code.ts'
import type { CgroupBase } from './cgroup-files.ts'

/** What a container is made from: the part of the wish that, when it changes, makes another container of it. */
export type ContainerWish = Pick<Workload, 'tenant' | 'version' | 'image'> & { spec: ContainerSpec }

/** Tells two wishes apart; the order in which the environment is listed does not matter. */
export function wishKey({ tenant, version, image, spec }: ContainerWish): string {
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

/** What is known of a container; on disk, so that a later server knows it too. */
export type ContainerRecord = {
  /** The wish it stands for; a wish with another key replaces it. */
  key: string
  state: ContainerState
  /** ISO times. */
  since: string
  retryAt: string | null
  reason: string | null
  restarts: number
  crashes: number
  oomKills: number
  exitCode: number | null
  outOfMemory: boolean
  /** Number of the newest run; 0: never run. */
  run: number
  /** The newest run began and its end was not seen yet. */
  isRunOpen: boolean
  /** What the cgroup had counted, and how long the log was, when the newest run began. */
  oomKillsBefore: number
  logBytesBefore: number
  /** Used up in cgroups that are gone, or as last seen where there are none. */
  spent: { cpuSeconds: number; throttledSeconds: number }
  /** Where its cgroup is; null without. */
  cgroups: CgroupBase | null
  uid: number | null
  logId: string
}

export function newRecord(key: string, now: Date, before: ContainerRecord | null): ContainerRecord {
  return {
    key,
    state: 'starting',
    since: now.toISOString(),
    retryAt: null,
    reason: null,
    restarts: 0,
    crashes: 0,
    oomKills: 0,
    exitCode: null,
    outOfMemory: false,
    // Numbers of runs and the log go on: a container of the same name writes where the one before wrote.
    run: before?.run ?? 0,
    isRunOpen: false,
    oomKillsBefore: 0,
    logBytesBefore: 0,
    spent: { cpuSeconds: 0, throttledSeconds: 0 },
    cgroups: null,
    uid: before?.uid ?? null,
    logId: before?.logId ?? randomBytes(6).toString('hex'),
  }
}

/** `<stateDir>/containers/<workload>/` holds `workload.json`, the wish, and a directory for each container. */
export const WISH = 'workload.json'
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
export function makeWalkable(dir: string): void {
  mkdirSync(dir, { recursive: true })
  chmodSync(dir, 0o711)
}

export function removeTree(dir: string): void {
  rmSync(dir, { recursive: true, force: true })
}
