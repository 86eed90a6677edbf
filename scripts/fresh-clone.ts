import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { runCommand } from './command.ts'
import { endLeftovers, endProcessesOf } from './leftovers.ts'
import { root } from './root.ts'

export type FreshClone = {
  /** The user that runs commands in it. */
  user: string
  folder: string
  /** A clone of the committed files. */
  clone: string
  env: Record<string, string>
  /** Wraps a command to run as that user. */
  as(...command: string[]): string[]
  /** Returns the processes of the folder or user that are still running after five seconds. */
  processes(): Promise<string[]>
  endProcesses(): Promise<void>
}

/**
 * Creates a folder with a clone, and an empty home, temporary folder and npm cache. `user`: owned by a new ordinary user, which
 * requires root; `root` and `self`: owned by the current user.
 * @throws if git or useradd fails
 */
export async function makeFreshClone(kind: 'user' | 'root' | 'self'): Promise<FreshClone> {
  // Short, because unix sockets of Postgres and tests are below it, and their paths have a maximum length.
  const folder = mkdtempSync('/tmp/sf-')
  chmodSync(folder, 0o755)
  const user = kind === 'user' ? `shoal-fresh-${process.pid}` : kind === 'root' ? 'root' : 'this user'
  if (kind === 'user') await must('useradd', '--home-dir', join(folder, 'home'), '--no-create-home', user)
  const ids = kind === 'user' ? idsOf(user) : null
  for (const name of ['home', 'tmp', 'npm', 'shoal']) {
    mkdirSync(join(folder, name))
    if (ids) chownSync(join(folder, name), ids.uid, ids.gid)
  }
  const clone = join(folder, 'shoal')
  // Without hard links, and self-contained, since the other user cannot read this repository.
  await must('git', 'clone', '--quiet', '--no-hardlinks', '--depth', '1', `file://${root}`, clone)
  if (ids) await must('chown', '-R', `${ids.uid}:${ids.gid}`, clone)
  const drop = ids ? ['setpriv', '--reuid', String(ids.uid), '--regid', String(ids.gid), '--clear-groups'] : []
  const processesOfUser = () => (ids ? pidsOf(ids.uid) : [])
  return {
    user,
    folder,
    clone,
    env: await freshEnvironment(folder, user),
    as: (...command) => [...drop, ...command],
    processes: async () => {
      const left = (await endLeftovers(folder)).map(({ pid, commandLine }) => `${pid} ${commandLine}`)
      return [...left, ...processesOfUser().map((pid) => `${pid} ${commandLineOf(pid)}`)]
    },
    endProcesses: async () => {
      endProcessesOf(folder)
      for (const pid of processesOfUser()) tryToKill(pid)
    },
  }
}

/** Removes folder and user. @throws if anything else is left on this machine */
export async function removeFreshClone(fresh: FreshClone): Promise<void> {
  await fresh.endProcesses()
  const isUser = fresh.as().length > 0
  const uid = isUser ? idsOf(fresh.user).uid : -1
  rmSync(fresh.folder, { recursive: true, force: true, maxRetries: 5 })
  if (isUser) await must('userdel', fresh.user)
  const left = readdirSync('/tmp').filter((name) => name === `shoal-${uid}`)
  for (const name of left) rmSync(join('/tmp', name), { recursive: true, force: true })
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes(fresh.folder))
  const problems = [
    ...left.map((name) => `/tmp/${name}`),
    ...mounts,
    ...(existsSync(fresh.folder) ? [fresh.folder] : []),
  ]
  if (problems.length > 0) throw new Error(problems.join('\n'))
}

/** The environment of a user who has just logged in, plus the machine's npm registry, which may be the only one it can reach. */
async function freshEnvironment(folder: string, user: string): Promise<Record<string, string>> {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((dir) => !dir.endsWith('node_modules/.bin'))
  const { output } = await runCommand('npm', ['config', 'get', 'registry', '--loglevel=error'], { cwd: '/' })
  const inheritedNames = [
    'LANG',
    'TERM',
    'NODE_EXTRA_CA_CERTS',
    'HTTPS_PROXY',
    'HTTP_PROXY',
    'NO_PROXY',
    'https_proxy',
    'no_proxy',
  ]
  const inherited = inheritedNames.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  return {
    ...(Object.fromEntries(inherited) as Record<string, string>),
    PATH: path.join(delimiter),
    HOME: join(folder, 'home'),
    USER: user,
    TMPDIR: join(folder, 'tmp'),
    npm_config_cache: join(folder, 'npm'),
    npm_config_registry: output.trim().split('\n').at(-1) ?? '',
  }
}

function idsOf(user: string): { uid: number; gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${user}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  if (!uid || !gid) throw new Error(`There is no user ${user}`)
  return { uid: Number(uid), gid: Number(gid) }
}

function pidsOf(uid: number): number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      // A zombie has ended and only waits for its parent.
      return new RegExp(`^Uid:\\s+${uid}\\s`, 'm').test(status) && !/^State:\s+Z/m.test(status)
    } catch {
      return false
    }
  })
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return 'has already ended'
  }
}

function tryToKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}

async function must(file: string, ...args: string[]): Promise<void> {
  const { code, output } = await runCommand(file, args)
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${output.trim()}`)
}
