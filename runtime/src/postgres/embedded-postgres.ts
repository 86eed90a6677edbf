import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { waitForFileLock } from '../file-lock.ts'
import { makeTraversable } from '../process/container-record.ts'
import {
  addressOf,
  createCluster,
  expectAddress,
  nextPort,
  passwordOf,
  portTakenByOther,
  preferredPort,
  takePort,
  type ClusterAddress,
} from './create-cluster.ts'
import { endOrphans } from './orphans.ts'
import { clusterOwner, accessibleBinaries, run, runningPort, superuser } from './postgres-program.ts'
import { linkOfferedExtensions } from './offered-extensions.ts'
import { moveToCgroup, removeCgroup, removeUnusedCgroups } from './cluster-cgroup.ts'
import { withAddressSpaceLimit, type PostgresLimits } from './postgres-limits.ts'
import type { SystemUser } from './system-user.ts'

export type EmbeddedPostgresOptions = {
  /** Directory of the cluster; must be traversable by other uids (`traversableDir`). */
  dir: string
  /** A file outside of `dir` that exists once the cluster was created, so that a disk that is not mounted gets no empty cluster. */
  createdFile?: string
  /** `-c` settings, for example to disable durability in tests. */
  settings?: Record<string, string>
  /** Limits of the whole cluster and of each of its processes. Default: none. */
  limits?: PostgresLimits
  /** Whether tenants connect to the cluster. They may create only the extensions of `linkOfferedExtensions`. */
  isForTenants?: boolean
}

export type EmbeddedPostgres = {
  host: string
  port: number
  user: string
  password: string
  /** Returns the superuser's connection URL to `database`. */
  url: (database: string) => string
  /** Whether the cluster was already running, because a killed server had started it. */
  wasRunning: boolean
  /** Stops the cluster if it is running. Only call this when no other process uses it. */
  stop: () => Promise<void>
}

/** Postgres does not start. The message is one sentence for the operator, with the reason from its log. */
export class PostgresStartError extends Error {
  override name = 'PostgresStartError'
}

/**
 * Starts the Postgres of the npm package on loopback, with a password. Postgres continues when the server is killed, and the next start adopts it.
 * @throws PostgresStartError when Postgres does not start
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  try {
    // The user that runs Postgres may traverse the directory but not list it.
    makeTraversable(options.dir)
    return await withStartLock(options.dir, () => open(options))
  } catch (error) {
    if (error instanceof PostgresStartError) throw error
    throw startError(options.dir, (error as Error).message, error)
  }
}

function startError(dir: string, reason: string, cause: unknown, log?: string): PostgresStartError {
  const lines = reason.split('\n').filter((line) => line.trim() !== '')
  // The reason is rarely in the first line (progress) or the last one (clean-up), but in the last line that mentions an error.
  const problem = lines.findLast((line) => /error|fatal|could not|panic/i.test(line)) ?? lines.at(-1) ?? ''
  const where = log === undefined ? '' : ` (${log})`
  return new PostgresStartError(`The embedded Postgres in ${dir} did not start: ${problem.trim()}${where}`, { cause })
}

/** Returns a cluster that did not start, with the address that it will have. Pass the address to `restartEmbeddedPostgres`. */
export async function describeStopped(
  options: EmbeddedPostgresOptions,
): Promise<{ postgres: EmbeddedPostgres; address: ClusterAddress }> {
  const address = await addressOf(options.dir)
  return { postgres: present(options, address, false), address }
}

/** Longer than another process needs to start or stop the cluster, even if Postgres must recover. */
const maxLockWaitMs = 120_000

/** Serializes starting and stopping a cluster between processes. */
export async function withStartLock<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const lock = await waitForFileLock(join(dir, 'start.lock'), 'exclusive', maxLockWaitMs)
  if (!lock) throw new Error(`Another process has been starting or stopping the Postgres in ${dir} for two minutes.`)
  try {
    return await work()
  } finally {
    lock.release()
  }
}

async function open(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const owner = clusterOwner()
  const binaries = accessibleBinaries(options.dir)
  const dataDir = join(options.dir, 'data')
  const existingPort = runningPort(dataDir)
  const password = await createCluster(options, binaries, owner)
  if (existingPort === null) await cleanUpCrashed(dataDir)
  const port = existingPort ?? (await startServer(options, binaries, owner))
  return present(options, { port, password }, existingPort !== null)
}

function present(
  options: EmbeddedPostgresOptions,
  { port, password }: ClusterAddress,
  wasRunning: boolean,
): EmbeddedPostgres {
  const dataDir = join(options.dir, 'data')
  const stopNow = async () => {
    if (runningPort(dataDir) !== null) await stopServer(accessibleBinaries(options.dir), dataDir, clusterOwner())
    // A later start removes a cgroup that remains.
    if (options.limits) await removeCgroup(options.dir).catch(() => undefined)
  }
  return {
    host: '127.0.0.1',
    port,
    user: superuser,
    password,
    url: (database) => `postgres://${superuser}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
    wasRunning,
    // A cluster that was never created has no lock.
    stop: async () => (existsSync(dataDir) ? await withStartLock(options.dir, stopNow) : undefined),
  }
}

async function stopServer(binaries: string, dataDir: string, owner: SystemUser | null): Promise<void> {
  await run(join(binaries, 'bin/pg_ctl'), ['stop', '-D', dataDir, '-m', 'fast', '-w', '-t', '60'], owner)
}

/**
 * Kills the remaining processes of a killed postmaster and removes its pid file. Postgres considers that pid alive until the parent of
 * the postmaster has reaped it, which may never happen in a container without an init.
 */
export async function cleanUpCrashed(dataDir: string): Promise<void> {
  if (process.platform !== 'linux') return
  await endOrphans(dataDir)
  rmSync(join(dataDir, 'postmaster.pid'), { force: true })
}

/**
 * Restarts a cluster that crashed, or starts one that did not start before, at the same address.
 * @param address from `describeStopped`, for a cluster that may not have recorded one
 * @throws Error when Postgres does not start, another program uses the port, or another process gave the cluster another address
 */
export async function restartEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
  address?: ClusterAddress,
): Promise<void> {
  makeTraversable(options.dir)
  await withStartLock(options.dir, async () => {
    const dataDir = join(options.dir, 'data')
    const port = runningPort(dataDir)
    if (port !== null) {
      if (address) expectAddress(address, { port, password: passwordOf(options.dir) })
      // An earlier start may have timed out before it moved the cluster to its cgroup.
      if (options.limits) moveToCgroup(options.dir, dataDir, options.limits)
      return
    }
    const [owner, binaries] = [clusterOwner(), accessibleBinaries(options.dir)]
    const password = await createCluster(options, binaries, owner, address)
    if (address) expectAddress(address, { port: nextPort(options.dir, address), password })
    await cleanUpCrashed(dataDir)
    const portInUse = await portTakenByOther(options.dir, address)
    if (portInUse !== null) throw new Error(`Another program uses its port, ${portInUse}`)
    await startServer(options, binaries, owner, address)
  })
}

/** Settings that limit what tenants can write to the disk outside their databases, how long they can hold connections without a role, and how fast they can use up what all share. */
const tenantSettings = {
  // Connection limits of roles apply only after authentication. The default is a minute.
  authentication_timeout: '10s',
  // Omits errors and warnings, since tenants can cause any number of them.
  log_min_messages: 'log',
  // 512 MB of notifications that no session has read yet; the default is 8 GB.
  max_notify_queue_pages: '65536',
  // Large enough that the worker ends a session that takes all locks before the others have none left.
  max_locks_per_transaction: '512',
}

async function startServer(
  options: EmbeddedPostgresOptions,
  binaries: string,
  owner: SystemUser | null,
  address?: ClusterAddress,
): Promise<number> {
  const dataDir = join(options.dir, 'data')
  if (address) takePort(options.dir, address.port)
  const port = address?.port ?? (await preferredPort(options.dir))
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '400',
    shared_buffers: '128MB',
    // Each squid's SDK opens repeatable-read transactions with many locks.
    max_locks_per_transaction: '128',
    log_min_messages: 'warning',
    ...(options.isForTenants
      ? { ...tenantSettings, extension_control_path: linkOfferedExtensions(options.dir, binaries, owner) }
      : {}),
    ...options.settings,
  }
  const args = Object.entries(settings).map(([key, value]) => `-c ${key}=${value === '' ? "''" : value}`)
  const log = join(options.dir, 'data', 'postgres.log')
  const logStart = existsSync(log) ? statSync(log).size : 0
  let isRunning = false
  try {
    const start = ['start', '-D', dataDir, '-l', log, '-w', '-t', '60', '-o', args.join(' ')]
    await run(...withAddressSpaceLimit(options.limits, join(binaries, 'bin/pg_ctl'), start), owner)
    isRunning = true
    if (options.limits) {
      removeUnusedCgroups(options.dir)
      moveToCgroup(options.dir, dataDir, options.limits)
    }
  } catch (error) {
    const { message } = error as Error
    if (!isRunning) throw startError(options.dir, reasonIn(log, logStart) ?? message, error, log)
    // Without its cgroup, the cluster has no limits, and the next attempt would adopt it.
    await stopServer(binaries, dataDir, owner).catch(() => undefined)
    throw startError(options.dir, message, error)
  }
  return port
}

/**
 * Returns the last FATAL or PANIC message that the failed start logged; null if there is none. Such messages of a start are about
 * the cluster's files and settings.
 */
function reasonIn(log: string, logStart: number): string | null {
  const lines = existsSync(log) ? readFileSync(log).subarray(logStart).toString().split('\n') : []
  const problem = lines.findLast((line) => /\b(FATAL|PANIC):/.test(line))
  return problem?.replace(/^.*?\b(?:FATAL|PANIC): +/, '') ?? null
}
