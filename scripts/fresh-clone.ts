import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { runCommand } from './command.ts'
import { endLeftovers, endProcessesOf } from './leftovers.ts'
import { root } from './root.ts'

export type FreshClone = {
  /** The user who runs commands in the clone. */
  user: string
  folder: string
  /** The folder of the clone, which has only committed files. */
  clone: string
  env: Record<string, string>
  /** Returns a command that runs the given one as this user. */
  as(...command: string[]): string[]
  /**
   * Waits up to five seconds for the processes that use the folder to end, and kills the remaining ones. Returns these and all other
   * processes of the user, as `<pid> <command line>`.
   */
  processes(): Promise<string[]>
  endProcesses(): Promise<void>
}

/**
 * Creates a folder with a clone, and an empty home, temporary folder and npm cache. With `user`, a new ordinary user owns them,
 * which requires root; with `root` and `self`, the current user.
 * @throws if git or useradd fails
 */
export async function makeFreshClone(kind: 'user' | 'root' | 'self'): Promise<FreshClone> {
  // The path is short, because the folder will contain unix sockets, whose paths have a maximum length.
  const folder = mkdtempSync('/tmp/sf-')
  chmodSync(folder, 0o755)
  const user = kind === 'user' ? `shoal-fresh-${process.pid}` : kind === 'root' ? 'root' : 'this user'
  if (kind === 'user') await runOrThrow('useradd', '--home-dir', join(folder, 'home'), '--no-create-home', user)
  const ids = kind === 'user' ? idsOf(user) : null
  for (const name of ['home', 'tmp', 'npm', 'shoal']) {
    mkdirSync(join(folder, name))
    if (ids) chownSync(join(folder, name), ids.uid, ids.gid)
  }
  const clone = join(folder, 'shoal')
  // A complete copy without hard links, since another user may not read this repository.
  await runOrThrow('git', 'clone', '--quiet', '--no-hardlinks', '--depth', '1', `file://${root}`, clone)
  if (ids) await runOrThrow('chown', '-R', `${ids.uid}:${ids.gid}`, clone)
  const dropPrivileges = ids
    ? ['setpriv', '--reuid', String(ids.uid), '--regid', String(ids.gid), '--clear-groups']
    : []
  const processesOfUser = () => (ids ? pidsOf(ids.uid) : [])
  return {
    user,
    folder,
    clone,
    env: await freshEnvironment(folder, user),
    as: (...command) => [...dropPrivileges, ...command],
    processes: async () => {
      const remaining = (await endLeftovers(folder)).map(({ pid, commandLine }) => `${pid} ${commandLine}`)
      return [...remaining, ...processesOfUser().map((pid) => `${pid} ${commandLineOf(pid)}`)]
    },
    endProcesses: async () => {
      endProcessesOf(folder)
      for (const pid of processesOfUser()) tryToKill(pid)
    },
  }
}

/** Removes the folder and the user. @throws if the clone has left other files or mounts on this machine */
export async function removeFreshClone(fresh: FreshClone): Promise<void> {
  await fresh.endProcesses()
  const isUser = fresh.as().length > 0
  const uid = isUser ? idsOf(fresh.user).uid : -1
  rmSync(fresh.folder, { recursive: true, force: true, maxRetries: 5 })
  if (isUser) await runOrThrow('userdel', fresh.user)
  const leftFolders = readdirSync('/tmp').filter((name) => name === `shoal-${uid}`)
  for (const name of leftFolders) rmSync(join('/tmp', name), { recursive: true, force: true })
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes(fresh.folder))
  const problems = [
    ...leftFolders.map((name) => `/tmp/${name}`),
    ...mounts,
    ...(existsSync(fresh.folder) ? [fresh.folder] : []),
  ]
  if (problems.length > 0) throw new Error(`The clone left behind:\n${problems.join('\n')}`)
}

/** Returns the environment of a user who has just logged in, plus the npm registry of the machine, which may be the only one it can reach. */
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
  if (!uid || !gid) throw new Error(`/etc/passwd has no user ${user}`)
  return { uid: Number(uid), gid: Number(gid) }
}

function pidsOf(uid: number): number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      // A zombie has already ended.
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
    return '(already ended)'
  }
}

function tryToKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}

async function runOrThrow(file: string, ...args: string[]): Promise<void> {
  const { code, output } = await runCommand(file, args)
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${output.trim()}`)
}
