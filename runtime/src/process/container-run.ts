import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { RuntimeClock } from '../clock.ts'
import type { Resources, WorkloadId } from '../driver.ts'
import type { ChangeWriter } from './changes.ts'
import { type Cgroup, openCgroup } from './cgroup.ts'
import { containerProgram } from './container-program.ts'
import {
  type ContainerFiles,
  type ContainerRecord,
  type DesiredContainer,
  DISK_FOLDERS,
  makeTraversable,
  removeTree,
} from './container-record.ts'
import { removeDisk } from './disk/subvolume-disks.ts'
import { type Host, programMark } from './host.ts'
import { logEnd, logFileBytes } from './log-start.ts'
import type { LogStore } from './log-store.ts'
import { type ProgramTree, endPrograms } from './program-tree.ts'
import { terminateLastLine } from './run-log.ts'
import { type WatchedRun, type RunStart, shimChild } from './run.ts'
import { PLAIN_ENV, confine } from './sandbox.ts'
import { shortHash } from './short-hash.ts'
import type { ContainerSockets } from './sockets.ts'

/** Services and settings shared by all containers of a host. */
export type HostContext = {
  host: Host
  imagesDir: string
  /** Scripts that every Node program of a container preloads, readable by all of them. */
  preloads: string[]
  /** A copy of shim.sh that upgrades do not change. */
  shimFile: string
  /** Runs a provided program, and forwards connections to it; readable by all containers. */
  forwarderFile: string
  sockets: ContainerSockets
  logs: LogStore
  /** Receives each start and end of a program. */
  changes: ChangeWriter
  clock: RuntimeClock
  /** How long a program may use a whole core after its start, even if its profile has less. */
  startUpMs: number
}

/** A container on the host. `key`: unique on the host. */
export type ContainerContext = { hostContext: HostContext; workload: WorkloadId; key: string; files: ContainerFiles }

/** Prefix of the names by which cgroups and processes of containers are found. The names are short enough for cgroups. */
export const CONTAINER_NAME_PREFIX = 'c-'
export const isolationName = (key: string): string => `${CONTAINER_NAME_PREFIX}${shortHash(key)}`

/** Returns the cgroup of a container, which may not exist; null if the container has none. */
export function containerCgroup({ key }: ContainerContext, record: ContainerRecord): Cgroup | null {
  return record.cgroups && openCgroup(record.cgroups, isolationName(key))
}

/** Returns what is needed to find and end the programs of a run. `run` null: the run has ended. */
export function programTree(context: ContainerContext, record: ContainerRecord, run: WatchedRun | null): ProgramTree {
  return {
    mark: programMark(context.hostContext.host, isolationName(context.key)),
    cgroup: containerCgroup(context, record),
    root: run?.shim ?? null,
    keepsRoot: true,
    hasRootEnded: () => run?.hasEnded() ?? true,
  }
}

/**
 * Prepares the user, directories, limits and sockets of a run. Resolves with the options to start the run and the changes to the record.
 * @throws StartError
 */
export async function prepareRun(context: ContainerContext, desired: DesiredContainer, record: ContainerRecord) {
  const { hostContext, workload, key, files } = context
  const { host } = hostContext
  const { disks } = host
  const uid = host.uidOf(`version ${desired.version}`)
  const newOwner = uid !== null && record.uid !== null && record.uid !== uid ? { from: record.uid, to: uid } : null
  makeTraversable(files.dir)
  moveToDisk(files)
  if (newOwner) await changeFileOwner(files, newOwner)
  const run = record.run + 1
  // Removes the directory of the previous run; the shim creates the new one.
  removeTree(files.runs)
  mkdirSync(files.runs, { mode: 0o700 })
  const socketDir = hostContext.sockets.prepare(key, uid)
  const disk = {
    dir: files.disk,
    folders: diskFolders(host),
    image: files.diskImage,
    bytes: disks.containerBytes,
    newOwner,
  }
  const logBytesBefore = logEnd(files.log)
  const { program, confinement, commandPrefix } = containerProgram(
    {
      host,
      imagesDir: hostContext.imagesDir,
      preloads: hostContext.preloads,
      forwarderFile: hostContext.forwarderFile,
      files,
      mark: programMark(host, isolationName(key)),
      socketDir,
      uid,
      diskPrefix: await disks.mount(disk),
      // The limit also applies to the program's log, but the reader shortens the log before it reaches the limit.
      maxFileBytes: disks.containerBytes === 0 ? null : logFileBytes(files.log) + disks.containerBytes,
    },
    desired,
  )
  const network = await host.network.open(workload, 'squid', uid, desired.limitedConnections)
  const resources = record.crashes === 0 ? startUpResources(context, desired) : desired.spec.resources
  const limits = await moveToServerCgroups(context, record, resources)
  const changes: Partial<ContainerRecord> = { ...limits.changes, uid, run, logBytesBefore }
  const start: RunStart = {
    shimFile: hostContext.shimFile,
    dir: files.run(run),
    graceMs: desired.spec.stopGraceMs,
    logFile: files.log,
    cgroupProcsFiles: limits.cgroup?.procsFiles ?? [],
    confinement: [...network, ...commandPrefix, ...confine(host, confinement)],
    program,
  }
  return { start, changes }
}

const diskFolders = ({ workFolders }: Host): string[] => [
  'home',
  'tmp',
  ...(workFolders === 'overlay' ? ['work-folder/upper', 'work-folder/work'] : ['work-folder/app']),
]

/** Creates the directory of the disk, and moves folders there that an earlier release stored without a disk. */
function moveToDisk({ dir, disk }: ContainerFiles): void {
  makeTraversable(disk)
  for (const name of DISK_FOLDERS) {
    const isMissing = !existsSync(join(disk, name))
    if (isMissing && existsSync(join(dir, name))) renameSync(join(dir, name), join(disk, name))
  }
}

/** Changes the owner of files that earlier runs have written, without following links. */
async function changeFileOwner(
  { home, tmp, workFolder }: ContainerFiles,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const folders = [home, tmp, workFolder].filter((folder) => existsSync(folder))
  const args = ['-R', '-h', '-P', `--from=${from}`, String(to), '--', ...folders]
  if (folders.length > 0) await promisify(execFile)('chown', args, { env: PLAIN_ENV })
}

/** Allows one core during startup: Node needs a second of CPU time before a squid's first line, or five seconds on a fifth of a core. */
function startUpResources({ hostContext }: ContainerContext, { spec: { resources } }: DesiredContainer): Resources {
  return hostContext.startUpMs > 0 ? { ...resources, cpuCores: Math.max(1, resources.cpuCores) } : resources
}

/** Applies the limits of the profile at the end of the start-up time. */
export function endStartUp(context: ContainerContext, desired: DesiredContainer, record: ContainerRecord): void {
  const cgroup = containerCgroup(context, record)
  if (cgroup?.usage()) cgroup.create(desired.spec.resources)
}

/** Creates the container's cgroup below the server's own cgroup, and removes one that an earlier server created elsewhere. */
async function moveToServerCgroups(context: ContainerContext, record: ContainerRecord, resources: Resources) {
  const base = context.hostContext.host.cgroups
  const isSame = JSON.stringify(base) === JSON.stringify(record.cgroups)
  if (!isSame) await containerCgroup(context, record)?.remove()
  const cgroup = base && openCgroup(base, isolationName(context.key))
  cgroup?.create(resources)
  const { cpuSeconds = 0, throttledSeconds = 0, oomKills = 0 } = cgroup?.usage() ?? {}
  const changes: Partial<ContainerRecord> = { cgroups: base, countedBefore: { cpuSeconds, throttledSeconds, oomKills } }
  return { cgroup, changes }
}

/** Removes the sockets and the cgroup of a container without running programs. Resolves with the changes to its record. */
export async function releaseHostResources(
  context: ContainerContext,
  record: ContainerRecord,
): Promise<Partial<ContainerRecord>> {
  context.hostContext.sockets.remove(context.key)
  await containerCgroup(context, record)?.remove()
  return { cgroups: null }
}

/** Kills the programs of a container whose record was lost, for example in a power failure. */
export async function killOrphans({ hostContext, key }: ContainerContext): Promise<void> {
  const name = isolationName(key)
  const cgroup = hostContext.host.cgroups && openCgroup(hostContext.host.cgroups, name)
  await endPrograms({ mark: programMark(hostContext.host, name), cgroup, root: null }, { graceMs: 0, exceptPid: null })
  await cgroup?.remove()
}

/** Stops all programs of a run, with a grace period. Resolves with the exit code, as `Run.ended` does. */
export async function stopRun(
  context: ContainerContext,
  record: ContainerRecord,
  run: WatchedRun,
): Promise<number | null> {
  // The child of the shim is bwrap, and a SIGTERM to it kills the whole sandbox immediately.
  const exceptPid = context.hostContext.host.sandbox === 'bwrap' ? await shimChild(run) : null
  await endPrograms(programTree(context, record, run), { graceMs: record.stopGraceMs, exceptPid })
  return run.ended
}

/** Kills remaining processes after the main program has ended, and completes the log. */
export async function cleanUpRun(
  context: ContainerContext,
  record: ContainerRecord,
  run: WatchedRun | null,
): Promise<void> {
  await endPrograms(programTree(context, record, run), { graceMs: 0, exceptPid: null })
  terminateLastLine(context.files.log)
}

/** Removes all files and host resources of a container without running programs. */
export async function removeFiles(context: ContainerContext, record: ContainerRecord | null): Promise<void> {
  if (record) {
    await releaseHostResources(context, record)
    context.hostContext.logs.end(record.logId)
  }
  removeDisk(context.files.diskImage)
  removeTree(context.files.dir)
}
