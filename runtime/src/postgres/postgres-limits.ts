import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { errorCode } from '../error-code.ts'
import { prepareCgroupBase } from '../process/cgroup-base.ts'
import { readPairs, type CgroupBase } from '../process/cgroup-files.ts'
import { baseDirs, openCgroup, removeCgroupBase } from '../process/cgroup.ts'
import { shortHash } from '../process/short-hash.ts'
import { listProcesses } from '../process/processes.ts'
import { postmasterOf } from './postgres-program.ts'

/** Limits of a cluster that must not starve the rest of the host. */
export type PostgresLimits = {
  /** Memory of all processes of the cluster together, including the file cache. Enforced where cgroups can be created. */
  memoryBytes: number
  /**
   * Address space of each process (RLIMIT_AS). A statement that needs more fails with the SQL error "out of memory"; without this
   * limit the kernel would kill the process, and Postgres would end the connections of all tenants.
   */
  processBytes: number
  /** CPU time relative to other programs, which have 1024, while the CPUs are busy. */
  cpuShares: number
}

/** Returns limits for a cluster of tenants on this host: half of the memory, and half of the CPU share of other programs. */
export function tenantLimits(memoryBytes = Math.floor(totalmem() / 2)): PostgresLimits {
  const processBytes = Math.min(Math.max(Math.floor(memoryBytes / 8), minProcessBytes), maxProcessBytes)
  return { memoryBytes, processBytes, cpuShares: 512 }
}

/** A process maps about 200 MB before it does any work: programs, libraries, and the shared buffers. */
const minProcessBytes = 768 * 2 ** 20
const maxProcessBytes = 4 * 2 ** 30

/** Returns the command that starts a program with the address space limit. */
export function withAddressSpaceLimit(
  limits: PostgresLimits | undefined,
  program: string,
  args: string[],
): [program: string, args: string[]] {
  if (!limits) return [program, args]
  const kibibytes = String(Math.floor(limits.processBytes / 1024))
  // Postgres runs without this limit on systems that do not have it (macOS).
  return ['/bin/sh', ['-c', 'ulimit -v "$0" 2>/dev/null; exec "$@"', kibibytes, program, ...args]]
}

const cgroupName = 'postgres'
const basePrefix = 'shoal-db-'
const baseOf = (dir: string): CgroupBase | null => prepareCgroupBase(`${basePrefix}${shortHash(dir)}`)

/** Moves the running cluster into its own cgroup. Returns false if this process may not create one. */
export function moveToCgroup(dir: string, dataDir: string, limits: PostgresLimits): boolean {
  const base = baseOf(dir)
  if (!base) return false
  const postmaster = postmasterOf(dataDir)
  if (postmaster === null) throw new Error(`The Postgres in ${dir} is stopped`)
  const { joinFiles } = openCgroup(base, cgroupName)
  const move = () => {
    for (const file of joinFiles) mkdirSync(join(file, '..'), { recursive: true })
    setLimits(base, limits)
    // The postmaster is moved first, so that all processes it starts afterwards are in the cgroup.
    for (const pid of [postmaster, ...childrenOf(postmaster)]) for (const file of joinFiles) addProcess(file, pid)
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

/** Differs from `setLimits` of containers: a cluster may have more processes, and has a CPU weight instead of a quota. */
function setLimits(base: CgroupBase, { memoryBytes, cpuShares }: PostgresLimits): void {
  const bytes = String(Math.floor(memoryBytes))
  if (base.version === 1) {
    writeFileSync(join(base.memory, cgroupName, 'memory.limit_in_bytes'), bytes)
    writeFileSync(join(base.cpu, cgroupName, 'cpu.shares'), String(cpuShares))
  } else {
    writeFileSync(join(base.unified, cgroupName, 'memory.max'), bytes)
    // The default weight is 100.
    writeFileSync(
      join(base.unified, cgroupName, 'cpu.weight'),
      String(Math.max(1, Math.round((cpuShares * 100) / 1024))),
    )
  }
}

const childrenOf = (parent: number): number[] =>
  listProcesses()
    .filter((info) => info.parent === parent)
    .map(({ pid }) => pid)

/**
 * Returns a function that reads the private memory of all processes of the cluster, in bytes, without shared buffers and file cache;
 * that function returns null while the cluster is stopped. Null if cgroups cannot be created.
 */
export function clusterMemoryReader(dir: string): (() => number | null) | null {
  const base = baseOf(dir)
  if (!base) return null
  const [parent, key] = base.version === 1 ? [base.memory, 'total_rss'] : [base.unified, 'anon']
  return () => {
    try {
      return readPairs(join(parent, cgroupName), 'memory.stat').get(key) ?? null
    } catch {
      // The cluster is stopped.
      return null
    }
  }
}

/** Removes the cgroup of a stopped cluster. */
export async function removeCgroup(dir: string): Promise<void> {
  const base = baseOf(dir)
  if (!base) return
  await openCgroup(base, cgroupName).remove()
  await removeCgroupBase(base)
}

/** A cgroup without processes is unused after this time; a start adds processes within milliseconds. */
const unusedAfterMs = 60_000

/**
 * Removes the cgroups, next to the cgroup of the cluster in `dir`, whose clusters ended without `removeCgroup`: they were killed,
 * perhaps together with their server, or their directory was deleted.
 */
export function removeUnusedCgroups(dir: string): void {
  const base = baseOf(dir)
  if (!base) return
  for (const parent of new Set(baseDirs(base).map((path) => dirname(path)))) {
    for (const name of readdirSync(parent)) if (name.startsWith(basePrefix)) removeIfUnused(join(parent, name))
  }
}

function removeIfUnused(dir: string): void {
  try {
    if (Date.now() - statSync(dir).mtimeMs < unusedAfterMs) return
    const cgroup = join(dir, cgroupName)
    // The kernel refuses to remove a cgroup that has processes.
    if (existsSync(cgroup)) rmdirSync(cgroup)
    rmdirSync(dir)
  } catch (error) {
    // It is in use, another process has removed it, or it belongs to another user.
    if (!['EBUSY', 'ENOTEMPTY', 'ENOENT', 'EACCES', 'EPERM'].includes(errorCode(error) ?? '')) throw error
  }
}
