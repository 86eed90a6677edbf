import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { waitForFileLock } from '../file-lock.ts'
import { makeTraversable } from '../process/container-record.ts'
import { endOrphans } from './orphans.ts'
import { clusterOwner, accessibleBinaries, run, runningPort, superuser } from './postgres-program.ts'
import { linkOfferedExtensions } from './offered-extensions.ts'
import { moveToCgroup, removeCgroup, removeUnusedCgroups } from './cluster-cgroup.ts'
import { withAddressSpaceLimit, type PostgresLimits } from './postgres-limits.ts'
import type { SystemUser } from './system-user.ts'

export type EmbeddedPostgresOptions = {
  /** Directory of the cluster; must be traversable by other uids (`traversableDir`). */
  dir: string
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

/**
 * Starts the Postgres of the npm package on loopback, with a password. It continues when the server is killed, and the next start adopts it.
 * @throws Error with the end of the Postgres log when Postgres does not start
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  // The user that runs Postgres may traverse the directory but not list it.
  makeTraversable(options.dir)
  return await withStartLock(options.dir, () => open(options))
}

/** Long enough for Postgres to recover. */
const maxStartMs = 120_000

/** Serializes starting and stopping a cluster between processes. */
export async function withStartLock<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const lock = await waitForFileLock(join(dir, 'start.lock'), 'exclusive', maxStartMs)
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
  const password = await ensureCluster(options.dir, binaries, owner)
  if (existingPort === null) await cleanUpCrashed(dataDir)
  const port = existingPort ?? (await startServer(options, binaries, owner))
  const stopNow = async () => {
    if (runningPort(dataDir) !== null)
      await run(join(binaries, 'bin/pg_ctl'), ['stop', '-D', dataDir, '-m', 'fast', '-w', '-t', '60'], owner)
    // A later start removes a cgroup that remains.
    if (options.limits) await removeCgroup(options.dir).catch(() => undefined)
  }
  const stop = () => withStartLock(options.dir, stopNow)
  return {
    host: '127.0.0.1',
    port,
    user: superuser,
    password,
    url: (database) => `postgres://${superuser}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
    wasRunning: existingPort !== null,
    stop,
  }
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
 * Restarts a crashed cluster at its previous port.
 * @throws Error when Postgres does not start, or another program uses the port
 */
export async function restartEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<void> {
  await withStartLock(options.dir, async () => {
    const dataDir = join(options.dir, 'data')
    if (runningPort(dataDir) !== null) return
    await cleanUpCrashed(dataDir)
    const portInUse = await portTakenByOther(options.dir)
    if (portInUse !== null) throw new Error(`Another program uses its port, ${portInUse}`)
    await startServer(options, accessibleBinaries(options.dir), clusterOwner())
  })
}

/** Creates the cluster if needed; resolves with the superuser's password. */
async function ensureCluster(dir: string, binaries: string, owner: SystemUser | null): Promise<string> {
  const passwordFile = join(dir, 'password')
  const dataDir = join(dir, 'data')
  if (existsSync(join(dataDir, 'PG_VERSION')) && existsSync(passwordFile))
    return readFileSync(passwordFile, 'utf8').trim()
  rmSync(dataDir, { recursive: true, force: true })
  const staging = `${dataDir}.part`
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { mode: 0o700 })
  const password = randomBytes(24).toString('base64url')
  const pwfile = join(staging, '..', 'pwfile')
  writeFileSync(pwfile, password, { mode: 0o600 })
  if (owner) {
    chownSync(staging, owner.uid, owner.gid)
    chownSync(pwfile, owner.uid, owner.gid)
  }
  const flags = [
    '-D',
    staging,
    '-U',
    superuser,
    '--pwfile',
    pwfile,
    '-A',
    'scram-sha-256',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
  ]
  await run(join(binaries, 'bin/initdb'), flags, owner)
  rmSync(pwfile)
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  renameSync(staging, dataDir)
  return password
}

/** Settings that limit what tenants can write to the disk outside their databases. */
const tenantSettings = {
  // Omits errors and warnings, of which tenants can cause any number.
  log_min_messages: 'log',
  // 512 MB of notifications that no session has read yet; the default is 8 GB.
  max_notify_queue_pages: '65536',
}

async function startServer(
  options: EmbeddedPostgresOptions,
  binaries: string,
  owner: SystemUser | null,
): Promise<number> {
  const dataDir = join(options.dir, 'data')
  const port = await preferredPort(join(options.dir, 'port'))
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
  try {
    const start = ['start', '-D', dataDir, '-l', log, '-w', '-t', '60', '-o', args.join(' ')]
    await run(...withAddressSpaceLimit(options.limits, join(binaries, 'bin/pg_ctl'), start), owner)
    if (options.limits) {
      removeUnusedCgroups(options.dir)
      moveToCgroup(options.dir, dataDir, options.limits)
    }
  } catch (error) {
    const tail = existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(-12).join('\n') : ''
    throw new Error(`The embedded Postgres did not start. The end of ${log}:\n${tail}`, { cause: error })
  }
  return port
}

/** Resolves with the previous port of the cluster if another program now uses it; null when the port is free. */
export async function portTakenByOther(dir: string): Promise<number | null> {
  const file = join(dir, 'port')
  const port = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  return await freePort(port).then(
    () => null,
    () => port,
  )
}

/** Resolves with the previous port if it is free, so that existing URLs stay valid; otherwise with a new one. */
async function preferredPort(file: string): Promise<number> {
  const previous = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  const port = await freePort(previous).catch(() => freePort(0))
  rmSync(file, { force: true })
  writeFileSync(file, String(port), { mode: 0o600 })
  return port
}

const freePort = (port: number) =>
  new Promise<number>((done, fail) => {
    const probe = createServer()
    probe.once('error', fail)
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => (typeof address === 'object' && address ? done(address.port) : fail(new Error('no port'))))
    })
  })
