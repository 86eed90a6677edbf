import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from '../error-code.ts'
import { prepareCgroupBase } from '../process/cgroup-base.ts'
import { readPairs, type CgroupBase } from '../process/cgroup-files.ts'
import { baseDirs, openCgroup, removeCgroupBase } from '../process/cgroup.ts'
import { listProcesses } from '../process/processes.ts'
import { shortHash } from '../process/short-hash.ts'
import type { PostgresLimits } from './postgres-limits.ts'
import { postmasterOf } from './postgres-program.ts'

// A cluster has a base, and below it a cgroup for the postmaster and one per database (`database-cgroups.ts`). In cgroup v1, the
// cgroups of databases exist only in the hierarchy of CPU time. In v2, where a process is in only one cgroup, the base has the memory limit.

const cgroupName = 'postgres'
const databasePrefix = 'database-'
const basePrefix = 'shoal-db-'

/** Returns the base of the cluster in `dir`; null if this process may not create cgroups. */
const baseOf = (dir: string): CgroupBase | null => prepareCgroupBase(`${basePrefix}${shortHash(dir)}`)

/** Moves the running cluster into its own cgroup. Returns false if this process may not create one. */
export function moveToCgroup(dir: string, dataDir: string, limits: PostgresLimits): boolean {
  const base = baseOf(dir)
  if (!base) return false
  const postmaster = postmasterOf(dataDir)
  if (postmaster === null) throw new Error(`The Postgres in ${dir} is stopped`)
  const { procsFiles } = openCgroup(base, cgroupName)
  const move = () => {
    for (const file of procsFiles) mkdirSync(dirname(file), { recursive: true })
    setLimits(base, limits)
    // The postmaster is moved first, so that all processes it starts afterwards are in the cgroup.
    for (const pid of [postmaster, ...childrenOf(postmaster)]) for (const file of procsFiles) addProcess(file, pid)
  }
  try {
    move()
  } catch (error) {
    // Another process may have removed the empty cgroup (`removeUnusedCgroups`).
    if (errorCode(error) !== 'ENOENT') throw error
    move()
  }
  return true
}

/** Moves a process into a cgroup; ignores a process that has ended. */
function addProcess(file: string, pid: number): void {
  try {
    writeFileSync(file, String(pid))
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

/**
 * Differs from `setLimits` of containers: a cluster may have more processes, and has a CPU weight instead of a quota. The base has the
 * weight: the kernel compares it with the weights of other programs. It compares the weights of the cgroups below only with each other.
 */
function setLimits(base: CgroupBase, { memoryBytes, cpuShares }: PostgresLimits): void {
  const bytes = String(Math.floor(memoryBytes))
  if (base.version === 1) {
    writeFileSync(join(base.memory, cgroupName, 'memory.limit_in_bytes'), bytes)
    writeFileSync(join(base.cpu, 'cpu.shares'), String(cpuShares))
  } else {
    writeFileSync(join(base.unified, 'memory.max'), bytes)
    // The default weight is 100.
    writeFileSync(join(base.unified, 'cpu.weight'), String(Math.max(1, Math.round((cpuShares * 100) / 1024))))
  }
}

const childrenOf = (parent: number): number[] =>
  listProcesses()
    .filter((info) => info.parent === parent)
    .map(({ pid }) => pid)

/**
 * Returns a function that reads the private memory of all processes of the cluster, in bytes, without shared buffers and file cache;
 * the function returns null while the cluster is stopped. Returns null instead of a function if cgroups cannot be created.
 */
export function clusterMemoryReader(dir: string): (() => number | null) | null {
  const base = baseOf(dir)
  if (!base) return null
  const [parent, key] = base.version === 1 ? [join(base.memory, cgroupName), 'total_rss'] : [base.unified, 'anon']
  return () => {
    try {
      return readPairs(parent, 'memory.stat').get(key) ?? null
    } catch {
      // The cluster is stopped.
      return null
    }
  }
}

/** The cgroups of a cluster that divide its CPU time. */
export type CpuCgroups = {
  /** Directory of the cgroup in which Postgres starts its processes. */
  main: string
  /** Returns the directory of a database's cgroup, which may not exist. */
  dirOf: (database: string) => string
  /** Returns the directories of the databases' cgroups that exist. */
  existingDirs: () => string[]
}

/** Returns the cgroups that divide the CPU time of the cluster in `dir`; null where cgroups cannot be created. */
export function cpuCgroupsOf(dir: string): CpuCgroups | null {
  const base = baseOf(dir)
  if (!base) return null
  const parent = base.version === 1 ? base.cpu : base.unified
  return {
    main: join(parent, cgroupName),
    dirOf: (database) => join(parent, `${databasePrefix}${database}`),
    existingDirs: () => databaseCgroupsIn(parent),
  }
}

function databaseCgroupsIn(parent: string): string[] {
  const names = existsSync(parent) ? readdirSync(parent) : []
  return names.filter((name) => name.startsWith(databasePrefix)).map((name) => join(parent, name))
}

/** Removes the cgroups of a stopped cluster. */
export async function removeCgroup(dir: string): Promise<void> {
  const base = baseOf(dir)
  if (!base) return
  for (const parent of baseDirs(base)) for (const cgroup of databaseCgroupsIn(parent)) rmdirSync(cgroup)
  await openCgroup(base, cgroupName).remove()
  await removeCgroupBase(base)
}

/** A cgroup without processes is unused after this time; a start adds processes within milliseconds. */
const unusedAfterMs = 60_000

/**
 * Removes the cgroups, next to those of the cluster in `dir`, whose clusters ended without `removeCgroup`: they were killed,
 * perhaps together with their server, or their directory was deleted.
 */
export function removeUnusedCgroups(dir: string): void {
  const base = baseOf(dir)
  if (!base) return
  for (const parent of new Set(baseDirs(base).map((path) => dirname(path)))) {
    for (const name of readdirSync(parent)) if (name.startsWith(basePrefix)) removeIfUnused(join(parent, name))
  }
}

function removeIfUnused(base: string): void {
  try {
    if (Date.now() - statSync(base).mtimeMs < unusedAfterMs) return
    const cgroup = join(base, cgroupName)
    // The kernel refuses to remove a cgroup that has processes.
    if (existsSync(cgroup)) rmdirSync(cgroup)
    for (const database of databaseCgroupsIn(base)) rmdirSync(database)
    rmdirSync(base)
  } catch (error) {
    // The cgroup is in use, another process has removed it, or it belongs to another user.
    if (!['EBUSY', 'ENOTEMPTY', 'ENOENT', 'EACCES', 'EPERM'].includes(errorCode(error) ?? '')) throw error
  }
}
