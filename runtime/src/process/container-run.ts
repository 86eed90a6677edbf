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

/** What all containers of a host have in common. */
export type HostContext = {
  host: Host
  imagesDir: string
  /** What every Node program of a container loads first, where all of them can read it. */
  preloads: string[]
  /** shim.sh where no upgrade changes it. */
  shimFile: string
  sockets: Sockets
  logs: LogStore
  /** Told of each start and end of a program. */
  changes: ChangeWriter
  clock: Clock
  /** How long a program may use a whole core when it starts, however little its profile has. */
  startUpMs: number
}

/** One container's place on the host. `key` is unique there. */
export type ContainerContext = { hostContext: HostContext; key: string; files: ContainerFiles }

/** A name short enough for cgroups, from which a process's container is told. */
export const BOX_PREFIX = 'c-'
export const boxName = (key: string): string => `${BOX_PREFIX}${shortHash(key)}`

export function containerCgroup({ key }: ContainerContext, record: ContainerRecord): Cgroup | null {
  return record.cgroups && openCgroup(record.cgroups, boxName(key))
}

export function programTree(place: ContainerContext, record: ContainerRecord, run: Run | null): ProgramTree {
  return {
    mark: boxMark(place.hostContext.host, boxName(place.key)),
    cgroup: containerCgroup(place, record),
    root: run?.shim ?? null,
    isRootSpared: true,
    isOver: () => run?.hasEnded() ?? true,
  }
}

/**
 * Makes everything a run needs: user, directories, limits, sockets. Answers how to start it and what to remember of it.
 * @throws StartError
 */
export async function prepareRun(place: ContainerContext, desired: DesiredContainer, record: ContainerRecord) {
  const { hostContext, key, files } = place
  const uid = hostContext.host.uidOf(`version ${desired.version}`)
  makeTraversable(files.dir)
  const run = record.run + 1
  // Only of the run before: the shim makes the new one's.
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
  const resources = record.crashes === 0 ? whileStarting(place, desired) : desired.spec.resources
  const limits = await moveToOurCgroups(place, record, resources)
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

/** Node alone needs a second of a core before a squid's first line: on a fifth of one, every start would take five. */
function whileStarting({ hostContext }: ContainerContext, { spec: { resources } }: DesiredContainer): Resources {
  return hostContext.startUpMs > 0 ? { ...resources, cpuCores: Math.max(1, resources.cpuCores) } : resources
}

/** The program has had its time to start: from now on it gets what its profile has. */
export function endStartUp(place: ContainerContext, desired: DesiredContainer, record: ContainerRecord): void {
  const cgroup = containerCgroup(place, record)
  if (cgroup?.usage()) cgroup.create(desired.spec.resources)
}

/** A server that was started elsewhere makes its cgroups elsewhere. */
async function moveToOurCgroups(place: ContainerContext, record: ContainerRecord, resources: Resources) {
  const base = place.hostContext.host.cgroups
  const isSame = JSON.stringify(base) === JSON.stringify(record.cgroups)
  if (!isSame) await containerCgroup(place, record)?.remove()
  const cgroup = base && openCgroup(base, boxName(place.key))
  cgroup?.create(resources)
  const { cpuSeconds = 0, throttledSeconds = 0, oomKills = 0 } = cgroup?.usage() ?? {}
  const changes: Partial<ContainerRecord> = { cgroups: base, countedBefore: { cpuSeconds, throttledSeconds, oomKills } }
  return { cgroup, changes }
}

/** Removes what a container without programs has outside of its own directory. Answers what to remember of it. */
export async function releaseHostResources(
  place: ContainerContext,
  record: ContainerRecord,
): Promise<Partial<ContainerRecord>> {
  place.hostContext.sockets.remove(place.key)
  await containerCgroup(place, record)?.remove()
  return { cgroups: null }
}

/** Ends programs of a container of which no record is left (its file was lost with the power). */
export async function killOrphans({ hostContext, key }: ContainerContext): Promise<void> {
  const name = boxName(key)
  const cgroup = hostContext.host.cgroups && openCgroup(hostContext.host.cgroups, name)
  await endPrograms({ mark: boxMark(hostContext.host, name), cgroup, root: null }, { graceMs: 0, spare: null })
  await cgroup?.remove()
}

/** Ends all programs of a run, gently first. Answers as `Run.ended` does. */
export async function stopRun(place: ContainerContext, record: ContainerRecord, run: Run): Promise<number | null> {
  // Where bwrap is used it is the top process, and a SIGTERM to it kills the whole sandbox at once.
  const spare = place.hostContext.host.sandbox === 'bwrap' ? await topProcess(run) : null
  await endPrograms(programTree(place, record, run), { graceMs: record.stopGraceMs, spare })
  return run.ended
}

/** The run's main program has ended: nothing of it is left afterwards, and its log is whole. */
export async function cleanUpRun(place: ContainerContext, record: ContainerRecord, run: Run | null): Promise<void> {
  await endPrograms(programTree(place, record, run), { graceMs: 0, spare: null })
  sealLog(place.files.log)
}

/** What the newest run has used of what its cgroup has `counted`. */
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

/** `exitCode`: as `Run.ended` answers. `survived`: kills for memory that did not end the run. `isStopped`: we ended it. */
export type SeenEnd = { exitCode: number | null; survived: number; isStopped: boolean; restart: Restart | undefined }

/**
 * How a run that just ended did so. A kill for memory is how it ended, whatever the programs around the killed one made of it: its
 * exit code is never 0 then.
 */
export function endOf(place: ContainerContext, record: ContainerRecord, run: RecordedRun, end: SeenEnd): RecordedEnd {
  const counted = containerCgroup(place, record)?.usage()
  const byKernel = counted ? countedInRun(record, counted).oomKills : null
  const isHeapFull = end.exitCode !== 0 && !byKernel && endedForHeap(place.files.log, record.logBytesBefore)
  const isOutOfMemory = (byKernel ?? 0) > end.survived || isHeapFull
  const exitCode = isOutOfMemory ? end.exitCode || KILLED : end.exitCode
  const byItself: EndedHow = exitCode === 0 && isFinal(end.restart, exitCode) ? 'done' : 'error'
  return {
    ...run,
    exitCode,
    how: end.isStopped ? 'stopped' : isOutOfMemory ? 'oom' : byItself,
    endedAt: endedAt(place, record, run).toISOString(),
    oomKills: isHeapFull ? 1 : byKernel,
  }
}

/** As the shim wrote down its end, which may be long ago when no server was there. */
function endedAt({ hostContext, files }: ContainerContext, record: ContainerRecord, { startedAt }: RecordedRun): Date {
  const exit = statSync(join(files.run(record.run), 'exit'), { throwIfNoEntry: false })
  const agoMs = exit ? Math.max(0, Date.now() - exit.mtimeMs) : 0
  return new Date(Math.max(new Date(startedAt).getTime(), hostContext.clock.now().getTime() - agoMs))
}

/** The exit code of what was killed. */
const KILLED = 137

/** Removes every trace of a container that has no programs any more. */
export async function removeFiles(place: ContainerContext, record: ContainerRecord | null): Promise<void> {
  if (record) {
    await releaseHostResources(place, record)
    place.hostContext.logs.end(record.logId)
  }
  removeTree(place.files.dir)
}
