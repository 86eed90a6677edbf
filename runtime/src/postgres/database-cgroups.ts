import { rmdirSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { errorCode } from '../error-code.ts'
import { cpuCgroupsOf, type CpuCgroups } from './cluster-cgroup.ts'
import { superuser } from './postgres-program.ts'

/** The poll interval. Until the process of a new connection is moved, it uses the CPU time of the cluster itself. */
const pollMs = 40
/** Interval of the removal of cgroups without processes. */
const removeEmptyMs = 60_000

export type CpuSharingOptions = {
  /** Directory of the cluster. */
  dir: string
  log: (message: string) => void
}

/**
 * Gives each database an equal share of the cluster's CPU time while the CPUs are busy, however many connections the database has: moves
 * the process of each new connection, except Shoal's own, into the cgroup of its database. Does nothing where cgroups cannot be created.
 * @returns a function that stops moving processes
 */
export function shareCpuAmongDatabases({ dir, log }: CpuSharingOptions): () => Promise<void> {
  const cgroups = cpuCgroupsOf(dir)
  if (!cgroups) return () => Promise.resolve()
  const closing = new AbortController()
  const watch = async () => {
    let removedAtMs = performance.now()
    /** Processes that remain in the cgroup of the cluster itself. Their titles are not read again. */
    let remaining = new Set<number>()
    while (!closing.signal.aborted) {
      await pause(pollMs, undefined, { signal: closing.signal }).catch(() => undefined)
      const pids = await processesIn(cgroups.main)
      for (const pid of pids) if (!remaining.has(pid) && !(await assign(cgroups, pid))) remaining.add(pid)
      remaining = remaining.intersection(new Set(pids))
      if (performance.now() - removedAtMs < removeEmptyMs) continue
      removeEmpty(cgroups)
      removedAtMs = performance.now()
    }
  }
  const watching = watch().catch((error: Error) => {
    log(`The connections to the Postgres in ${dir} no longer share its CPU time by database: ${error.message}`)
  })
  return async () => {
    closing.abort()
    await watching
  }
}

/** Titles of processes that never serve a database of a squid: those of the cluster itself, and Shoal's own connections. */
const titleOutsideDatabases =
  /^postgres: (?:checkpointer|background writer|walwriter|autovacuum launcher|logical replication launcher|io worker|shoal )/

/** Moves a process into the cgroup of its database if it already has a database. Returns false if it will never have one. */
async function assign(cgroups: CpuCgroups, pid: number): Promise<boolean> {
  const title = await readText(`/proc/${pid}/cmdline`)
  const cgroup = await cgroupFor(cgroups, title)
  if (cgroup) await moveTo(cgroup, pid)
  return !titleOutsideDatabases.test(title)
}

/**
 * Moves a process into a cgroup. Asynchronous, because the kernel first waits some milliseconds for all CPUs, which would delay all
 * requests to the server.
 */
async function moveTo(cgroup: string, pid: number): Promise<void> {
  try {
    await mkdir(cgroup, { recursive: true })
    await writeFile(join(cgroup, 'cgroup.procs'), String(pid))
  } catch (error) {
    // The process has ended, or the cluster was stopped and its cgroups removed.
    if (!['ESRCH', 'ENOENT', 'ENODEV'].includes(errorCode(error) ?? '')) throw error
  }
}

/** Activities of connections that have not authenticated yet. Their role and database are only what the client has requested. */
const unauthenticated = /(?:^| )(?:initializing|authentication|startup)$/

/**
 * Returns the database of a squid that a connection with this title uses. Postgres sets the title: `postgres: role database
 * address(port) activity`. Null for all other processes, Shoal's own connections, and clients that have not authenticated: their titles
 * contain any text.
 */
export function databaseOfTitle(title: string): string | null {
  const [, role, database, activity = ''] =
    /^postgres: (\S+) (sq_[0-9a-f]{8}_\d+) [\d.:a-f]+\(\d+\) ([\w() ]+)\0*$/.exec(title.trimEnd()) ?? []
  return !database || role === superuser || unauthenticated.test(activity) ? null : database
}

/**
 * Returns the cgroup for a process with this title: that of its database, or of the connection that it helps (`postgres: parallel worker
 * for PID …`). Null if it has none.
 */
async function cgroupFor(cgroups: CpuCgroups, title: string): Promise<string | null> {
  const leader = /^postgres: parallel worker for PID (\d+)/.exec(title)?.[1]
  if (leader) return findCgroupOf(Number(leader), cgroups)
  const database = databaseOfTitle(title)
  return database === null ? null : cgroups.dirOf(database)
}

async function findCgroupOf(pid: number, { existingDirs }: CpuCgroups): Promise<string | null> {
  for (const cgroup of existingDirs()) if ((await processesIn(cgroup)).includes(pid)) return cgroup
  return null
}

function removeEmpty({ existingDirs }: CpuCgroups): void {
  for (const cgroup of existingDirs()) {
    try {
      rmdirSync(cgroup)
    } catch {
      // The cgroup has processes, or another server has removed it.
    }
  }
}

async function processesIn(cgroup: string): Promise<number[]> {
  const text = await readText(join(cgroup, 'cgroup.procs'))
  return text.split('\n').filter(Boolean).map(Number)
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch {
    return ''
  }
}
