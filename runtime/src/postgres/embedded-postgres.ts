import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { waitForFileLock } from '../file-lock.ts'
import { endOrphans } from './orphans.ts'
import { clusterOwner, reachableBinaries, run, runningPort, superuser } from './postgres-program.ts'
import type { SystemUser } from './system-user.ts'

export type EmbeddedPostgresOptions = {
  /** Directory of the cluster; must be traversable for other uids (`traversableDir`). */
  dir: string
  /** `-c` settings, for example to give up durability in tests. */
  settings?: Record<string, string>
}

export type EmbeddedPostgres = {
  host: string
  port: number
  user: string
  password: string
  /** Connection URL of the superuser to `database`. */
  url: (database: string) => string
  /** True when it was already running, left by a killed server. */
  wasRunning: boolean
  /** Stops it if it runs. Only call when no other process uses it. */
  stop: () => Promise<void>
}

/**
 * A Postgres from npm on loopback with a password. It runs independently: it survives a killed server, and the next start
 * adopts it.
 * @throws Error with the end of the Postgres log when it does not start
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  mkdirSync(options.dir, { recursive: true, mode: 0o755 })
  return await withStartLock(options.dir, () => open(options))
}

/** Long enough for a Postgres that recovers. */
const maxStartMs = 120_000

/** Serializes starting and stopping a cluster between processes. */
async function withStartLock<T>(dir: string, work: () => Promise<T>): Promise<T> {
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
  const native = reachableBinaries(options.dir)
  const dataDir = join(options.dir, 'data')
  const running = runningPort(dataDir)
  const password = await cluster(options.dir, native, owner)
  if (running === null) await clearAway(dataDir)
  const port = running ?? (await startServer(options, native, owner))
  const stopNow = async () => {
    if (runningPort(dataDir) === null) return
    await run(join(native, 'bin/pg_ctl'), ['stop', '-D', dataDir, '-m', 'fast', '-w', '-t', '60'], owner)
  }
  const stop = () => withStartLock(options.dir, stopNow)
  return {
    host: '127.0.0.1',
    port,
    user: superuser,
    password,
    url: (database) => `postgres://${superuser}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
    wasRunning: running !== null,
    stop,
  }
}

/**
 * Removes the pid file of a killed postmaster. Postgres considers its pid alive until its parent has reaped it, which may never
 * happen in a container without an init.
 */
async function clearAway(dataDir: string): Promise<void> {
  if (process.platform !== 'linux') return
  await endOrphans(dataDir)
  rmSync(join(dataDir, 'postmaster.pid'), { force: true })
}

/**
 * Restarts a crashed cluster at its previous port.
 * @throws Error when it does not start, or another program uses the port
 */
export async function restartEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<void> {
  await withStartLock(options.dir, async () => {
    const dataDir = join(options.dir, 'data')
    if (runningPort(dataDir) !== null) return
    await clearAway(dataDir)
    const portInUse = await takenPort(options.dir)
    if (portInUse !== null) throw new Error(`Another program uses its port, ${portInUse}`)
    await startServer(options, reachableBinaries(options.dir), clusterOwner())
  })
}

/** Creates the cluster if needed; resolves with the superuser's password. */
async function cluster(dir: string, native: string, owner: SystemUser | null): Promise<string> {
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
  await run(join(native, 'bin/initdb'), flags, owner)
  rmSync(pwfile)
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  renameSync(staging, dataDir)
  return password
}

async function startServer(
  options: EmbeddedPostgresOptions,
  native: string,
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
    // Each squid's SDK opens repeatable-read transactions with many locks (contract 4.2).
    max_locks_per_transaction: '128',
    log_min_messages: 'warning',
    ...options.settings,
  }
  const args = Object.entries(settings).map(([key, value]) => `-c ${key}=${value === '' ? "''" : value}`)
  const log = join(options.dir, 'data', 'postgres.log')
  try {
    await run(
      join(native, 'bin/pg_ctl'),
      ['start', '-D', dataDir, '-l', log, '-w', '-t', '60', '-o', args.join(' ')],
      owner,
    )
  } catch (error) {
    const tail = existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(-12).join('\n') : ''
    throw new Error(`The embedded Postgres did not start. The end of ${log}:\n${tail}`, { cause: error })
  }
  return port
}

/** The previous port of the cluster if another program uses it now; null when it is free. */
export async function takenPort(dir: string): Promise<number | null> {
  const file = join(dir, 'port')
  const port = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  return await freePort(port).then(
    () => null,
    () => port,
  )
}

/** The previous port if it is free, so that known URLs stay valid; otherwise a new one. */
async function preferredPort(file: string): Promise<number> {
  const last = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  const port = await freePort(last).catch(() => freePort(0))
  writeFileSync(file, String(port))
  return port
}

const freePort = (port: number) =>
  new Promise<number>((done, failed) => {
    const probe = createServer()
    probe.once('error', failed)
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => (typeof address === 'object' && address ? done(address.port) : failed(new Error('no port'))))
    })
  })
