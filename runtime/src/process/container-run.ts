import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { EndedHow, Resources, Restart } from '../driver.ts'
import { isFinal } from '../exit-message.ts'
import type { ChangeWriter } from './changes.ts'
import { type Cgroup, openCgroup } from './cgroup.ts'
import type { CgroupUsage, RunCounters } from './cgroup-files.ts'
import { containerProgram } from './container-program.ts'
import {
  type ContainerFiles,
  type ContainerRecord,
  type DesiredContainer,
  type RecordedEnd,
  type RecordedRun,
  makeTraversable,
  removeTree,
} from './container-record.ts'
import { type Host, boxMark, shortHash } from './host.ts'
import type { LogStore } from './log-store.ts'
import { type ProgramTree, endPrograms } from './program-tree.ts'
import { endedForHeap, logBytes, sealLog } from './run-log.ts'
import { type Run, type RunStart, topProcess } from './run.ts'
import { confine } from './sandbox.ts'
import type { Sockets } from './sockets.ts'

/** Services and settings shared by all containers of a host. */
export type HostContext = {
  host: Host
  imagesDir: string
  /** Scripts that every Node program of a container preloads, readable for all of them. */
  preloads: string[]
  /** A copy of shim.sh that upgrades do not change. */
  shimFile: string
  sockets: Sockets
  logs: LogStore
  /** Receives each start and end of a program. */
  changes: ChangeWriter
  clock: Clock
  /** How long a program may use a whole core when it starts, even if its profile has less. */
  startUpMs: number
}

/** One container on the host. `key` is unique there. */
export type ContainerContext = { hostContext: HostContext; key: string; files: ContainerFiles }

/** A name short enough for cgroups, which identifies the container of a process. */
export const BOX_PREFIX = 'c-'
export const boxName = (key: string): string => `${BOX_PREFIX}${shortHash(key)}`

export function containerCgroup({ key }: ContainerContext, record: ContainerRecord): Cgroup | null {
  return record.cgroups && openCgroup(record.cgroups, boxName(key))
}

export function programTree(context: ContainerContext, record: ContainerRecord, run: Run | null): ProgramTree {
  return {
    mark: boxMark(context.hostContext.host, boxName(context.key)),
    cgroup: containerCgroup(context, record),
    root: run?.shim ?? null,
    isRootSpared: true,
    isOver: () => run?.hasEnded() ?? true,
  }
}

/**
 * Prepares everything a run needs: user, directories, limits, sockets. Resolves with how to start it and changes to the record.
 * @throws StartError
 */
export async function prepareRun(context: ContainerContext, desired: DesiredContainer, record: ContainerRecord) {
  const { hostContext, key, files } = context
  const uid = hostContext.host.uidOf(`version ${desired.version}`)
  makeTraversable(files.dir)
  const run = record.run + 1
  // Removes the directory of the previous run; the shim creates the new one.
  removeTree(files.runs)
  mkdirSync(files.runs, { mode: 0o700 })
  const socketDir = hostContext.sockets.prepare(key, uid)
  const { program, confinement, words } = containerProgram(
    {
      host: hostContext.host,
      imagesDir: hostContext.imagesDir,
      preloads: hostContext.preloads,
      files,
      mark: boxMark(hostContext.host, boxName(key)),
      socketDir,
      uid,
    },
    desired,
  )
  const resources = record.crashes === 0 ? whileStarting(context, desired) : desired.spec.resources
  const limits = await moveToOurCgroups(context, record, resources)
  const changes: Partial<ContainerRecord> = { ...limits.changes, uid, run, logBytesBefore: logBytes(files.log) }
  const start: RunStart = {
    shimFile: hostContext.shimFile,
    dir: files.run(run),
    graceMs: desired.spec.stopGraceMs,
    logFile: files.log,
    joinFiles: limits.cgroup?.joinFiles ?? [],
    confinement: [...words, ...confine(hostContext.host.sandbox, confinement)],
    program,
  }
  return { start, changes }
}

/** Node needs a second of CPU time before a squid's first line, which would take five seconds on a fifth of a core. */
function whileStarting({ hostContext }: ContainerContext, { spec: { resources } }: DesiredContainer): Resources {
  return hostContext.startUpMs > 0 ? { ...resources, cpuCores: Math.max(1, resources.cpuCores) } : resources
}

/** Applies the limits of the profile after the start-up time. */
export function endStartUp(context: ContainerContext, desired: DesiredContainer, record: ContainerRecord): void {
  const cgroup = containerCgroup(context, record)
  if (cgroup?.usage()) cgroup.create(desired.spec.resources)
}

/** Moves to this server's cgroups, since a server in another cgroup creates its cgroups elsewhere. */
async function moveToOurCgroups(context: ContainerContext, record: ContainerRecord, resources: Resources) {
  const base = context.hostContext.host.cgroups
  const isSame = JSON.stringify(base) === JSON.stringify(record.cgroups)
  if (!isSame) await containerCgroup(context, record)?.remove()
  const cgroup = base && openCgroup(base, boxName(context.key))
  cgroup?.create(resources)
  const { cpuSeconds = 0, throttledSeconds = 0, oomKills = 0 } = cgroup?.usage() ?? {}
  const changes: Partial<ContainerRecord> = { cgroups: base, countedBefore: { cpuSeconds, throttledSeconds, oomKills } }
  return { cgroup, changes }
}

/** Removes sockets and cgroup of a container without programs. Resolves with changes to the record. */
export async function releaseHostResources(
  context: ContainerContext,
  record: ContainerRecord,
): Promise<Partial<ContainerRecord>> {
  context.hostContext.sockets.remove(context.key)
  await containerCgroup(context, record)?.remove()
  return { cgroups: null }
}

/** Kills programs of a container whose record was lost, for example by a power failure. */
export async function killOrphans({ hostContext, key }: ContainerContext): Promise<void> {
  const name = boxName(key)
  const cgroup = hostContext.host.cgroups && openCgroup(hostContext.host.cgroups, name)
  await endPrograms({ mark: boxMark(hostContext.host, name), cgroup, root: null }, { graceMs: 0, spare: null })
  await cgroup?.remove()
}

/** Stops all programs of a run, with a grace period. Resolves as `Run.ended`. */
export async function stopRun(context: ContainerContext, record: ContainerRecord, run: Run): Promise<number | null> {
  // bwrap is the top process of a sandbox, and a SIGTERM to it kills the whole sandbox immediately.
  const spare = context.hostContext.host.sandbox === 'bwrap' ? await topProcess(run) : null
  await endPrograms(programTree(context, record, run), { graceMs: record.stopGraceMs, spare })
  return run.ended
}

/** Kills remaining processes after the main program has ended, and completes the log. */
export async function cleanUpRun(context: ContainerContext, record: ContainerRecord, run: Run | null): Promise<void> {
  await endPrograms(programTree(context, record, run), { graceMs: 0, spare: null })
  sealLog(context.files.log)
}

/** The share of the latest run in the counters of its cgroup. */
export function countedInRun(
  { countedBefore }: ContainerRecord,
  counted: CgroupUsage,
): RunCounters & { oomKills: number } {
  const since = (now: number, before: number | null) => Math.max(0, now - (before ?? 0))
  return {
    cpuSeconds: since(counted.cpuSeconds, countedBefore.cpuSeconds),
    throttledSeconds: since(counted.throttledSeconds, countedBefore.throttledSeconds),
    oomKills: since(counted.oomKills, countedBefore.oomKills),
  }
}

/** `exitCode`: see `Run.ended`. `survived`: out-of-memory kills that did not end the run. `isStopped`: stopped by the driver. */
export type ObservedEnd = {
  exitCode: number | null
  survived: number
  isStopped: boolean
  restart: Restart | undefined
}

/**
 * Determines how a run ended. An out-of-memory kill takes precedence over the exit code of wrapper programs, and its exit code is
 * never 0.
 */
export function endOf(
  context: ContainerContext,
  record: ContainerRecord,
  run: RecordedRun,
  end: ObservedEnd,
): RecordedEnd {
  const counted = containerCgroup(context, record)?.usage()
  const byKernel = counted ? countedInRun(record, counted).oomKills : null
  const isHeapFull = end.exitCode !== 0 && !byKernel && endedForHeap(context.files.log, record.logBytesBefore)
  const isOutOfMemory = (byKernel ?? 0) > end.survived || isHeapFull
  const exitCode = isOutOfMemory ? end.exitCode || KILLED : end.exitCode
  const ownEnd: EndedHow = exitCode === 0 && isFinal(end.restart, exitCode) ? 'done' : 'error'
  return {
    ...run,
    exitCode,
    how: end.isStopped ? 'stopped' : isOutOfMemory ? 'oom' : ownEnd,
    endedAt: endedAt(context, record, run).toISOString(),
    oomKills: isHeapFull ? 1 : byKernel,
  }
}

/** Time of the end as recorded by the shim, possibly long ago when no server was running. */
function endedAt({ hostContext, files }: ContainerContext, record: ContainerRecord, { startedAt }: RecordedRun): Date {
  const exit = statSync(join(files.run(record.run), 'exit'), { throwIfNoEntry: false })
  const agoMs = exit ? Math.max(0, Date.now() - exit.mtimeMs) : 0
  return new Date(Math.max(new Date(startedAt).getTime(), hostContext.clock.now().getTime() - agoMs))
}

/** Exit code of a killed program. */
const KILLED = 137

/** Removes all files and resources of a container without programs. */
export async function removeFiles(context: ContainerContext, record: ContainerRecord | null): Promise<void> {
  if (record) {
    await releaseHostResources(context, record)
    context.hostContext.logs.end(record.logId)
  }
  removeTree(context.files.dir)
}
