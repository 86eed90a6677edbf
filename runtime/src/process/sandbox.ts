import { execFile } from 'node:child_process'
import { lstatSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { errorCode } from '../error-code.ts'

/** Isolation between a program and the host. */
export type Sandbox = 'bwrap' | 'none'

export type Confinement = {
  /** Null: the user of the server. */
  uid: number | null
  /** The only group; default: the same number as `uid`. */
  gid?: number | null
  readableDirs: string[]
  writableDirs: string[]
}

/** The complete environment of helper programs (sh, bwrap, setpriv). */
export const PLAIN_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin' }

/** Command prefix that confines the command after it. */
export function confine(sandbox: Sandbox, confinement: Confinement): string[] {
  return [
    ...(sandbox === 'bwrap' ? bwrap(confinement) : []),
    ...(confinement.uid === null ? [] : dropTo(confinement.uid, confinement.gid ?? confinement.uid)),
  ]
}

/** `blocked`: installed, but not usable with this kernel or user; `reason`: its error message. */
export type BwrapState = { is: 'usable' } | { is: 'missing' } | { is: 'blocked'; reason: string }

/** Checks whether bubblewrap works, with the same arguments as used later. */
export async function tryBwrap(uid: number | null): Promise<BwrapState> {
  if (process.platform !== 'linux') return { is: 'missing' }
  const [program = '', ...words] = confine('bwrap', { uid, readableDirs: [], writableDirs: [] })
  try {
    await promisify(execFile)(program, [...words, 'true'], { env: PLAIN_ENV, timeout: 10_000 })
    return { is: 'usable' }
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { is: 'missing' }
    const { stderr, message } = error as Error & { stderr?: string }
    return { is: 'blocked', reason: (stderr?.trim() || message).split('\n').at(-1) ?? message }
  }
}

/** True when privileges can be dropped permanently to another user. */
export async function canDropTo(uid: number): Promise<boolean> {
  const [program = '', ...words] = dropTo(uid, uid)
  try {
    await promisify(execFile)(program, [...words, 'true'], { env: PLAIN_ENV, timeout: 10_000 })
    return true
  } catch {
    return false
  }
}

function dropTo(uid: number, gid: number): string[] {
  const ids = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups']
  return ['setpriv', ...ids, '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs']
}

/** Only the listed paths exist inside, with the same names. Uses the host's network, since squids need Postgres and RPC. */
function bwrap({ uid, readableDirs, writableDirs }: Confinement): string[] {
  const etc = [
    'ssl',
    'pki',
    'ca-certificates',
    'alternatives',
    'resolv.conf',
    'hosts',
    'nsswitch.conf',
    'localtime',
    'passwd',
    'group',
  ]
  const binds = [
    ...readableDirs.map((dir) => ({ dir, flag: '--ro-bind' })),
    ...writableDirs.map((dir) => ({ dir, flag: '--bind' })),
  ].sort((a, b) => a.dir.length - b.dir.length)
  const rights =
    uid === null ? ['--unshare-user'] : ['SETUID', 'SETGID', 'SETPCAP'].flatMap((name) => ['--cap-add', `CAP_${name}`])
  return [
    ['bwrap'],
    directory('/etc'),
    ['--ro-bind', '/usr', '/usr'],
    ...['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].map(systemDir),
    ...etc.map((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ['--proc', '/proc', '--dev', '/dev', '--perms', '1777', '--tmpfs', '/tmp'],
    ...parents(binds.map(({ dir }) => dir)).map(directory),
    ...binds.map(({ dir, flag }) => [flag, dir, dir]),
    ['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--hostname', 'squid', '--die-with-parent', '--new-session'],
    rights,
  ].flat()
}

/** Creates a traversable directory. bwrap creates parents of bind mounts for root only. */
function directory(dir: string): string[] {
  return ['--perms', '0755', '--dir', dir]
}

/** Parent folders of `dirs` to create, outermost first. */
function parents(dirs: string[]): string[] {
  const made = new Set<string>()
  for (const dir of dirs) {
    for (let above = dirname(dir); above !== dirname(above); above = dirname(above)) made.add(above)
  }
  const isThere = (dir: string) =>
    dir === '/tmp' || /^\/(usr|etc|proc|dev|s?bin|lib\w*)(\/|$)/.test(dir) || isBelowOneOf(dir, dirs)
  return [...made].filter((dir) => !isThere(dir)).sort((a, b) => a.length - b.length)
}

const isBelowOneOf = (path: string, dirs: string[]) => dirs.some((dir) => path === dir || path.startsWith(`${dir}/`))

/** `/lib`, `/bin` etc.: links into /usr on merged systems, folders elsewhere. */
function systemDir(name: string): string[] {
  const path = `/${name}`
  const entry = lstatSync(path, { throwIfNoEntry: false })
  if (!entry) return []
  return entry.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
}
