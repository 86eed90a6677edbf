import { execFile } from 'node:child_process'
import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode } from '../error-code.ts'
import { replaceFile } from './replace-file.ts'
import { seccompFilter } from './seccomp.ts'

/** Isolation between a program and the host. */
export type Sandbox = 'bwrap' | 'none'

/** Protections of bubblewrap that some hosts do not offer. */
export type BwrapFeatures = {
  /** The file with the filter of system calls; null: all are allowed. */
  filterFile: string | null
  /** The size of `/tmp` can be limited (bubblewrap 0.7 and later). */
  limitsTmp: boolean
}

/** What a program may access. */
export type Confinement = {
  /** Null: the user of the server. */
  uid: number | null
  /** The only group of the program. Default: the same number as `uid`. */
  gid?: number | null
  readableDirs: string[]
  writableDirs: string[]
  /** Size of `/tmp` in the sandbox. Its content is in memory. */
  tmpBytes: number
}

/** Share of a program's memory limit that `/tmp` may use, so that it is reported as full before the kernel kills the program. */
export const TMP_SHARE = 0.25

/** The complete environment of helper programs (sh, bwrap, setpriv). */
export const PLAIN_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin' }

/**
 * A command prefix that runs the command in a new mount namespace, which no other program sees and which ends with the command's
 * programs.
 */
export const NEW_MOUNT_NAMESPACE = ['unshare', '--mount', '--propagation=private']

/** Returns a command prefix that confines the command after it. */
export function confine(
  { sandbox, bwrapFeatures }: { sandbox: Sandbox; bwrapFeatures: BwrapFeatures },
  confinement: Confinement,
): string[] {
  return [
    ...(sandbox === 'bwrap' ? bwrap(confinement, bwrapFeatures) : []),
    ...(confinement.uid === null ? [] : dropTo(confinement.uid, confinement.gid ?? confinement.uid)),
  ]
}

/** `blocked`: installed, but not usable with this kernel or user; `reason`: its error message. */
export type BwrapState = { status: 'usable' } | { status: 'missing' } | { status: 'blocked'; reason: string }

/**
 * Checks whether bubblewrap works, and with which features, with the same arguments as for programs. Writes the filter of system calls
 * to `stateDir`.
 */
export async function findBwrap(
  uid: number | null,
  stateDir: string,
): Promise<{ state: BwrapState; features: BwrapFeatures }> {
  const filterFile = writeFilter(stateDir)
  const filterFiles = filterFile === null ? [null] : [filterFile, null]
  const kinds = filterFiles.flatMap((file) => [true, false].map((limitsTmp) => ({ filterFile: file, limitsTmp })))
  let state: BwrapState = { status: 'missing' }
  for (const features of kinds) {
    state = await tryBwrap(uid, features)
    if (state.status !== 'blocked') return { state, features }
  }
  return { state, features: { filterFile: null, limitsTmp: false } }
}

async function tryBwrap(uid: number | null, bwrapFeatures: BwrapFeatures): Promise<BwrapState> {
  if (process.platform !== 'linux') return { status: 'missing' }
  const confinement = { uid, readableDirs: [], writableDirs: [], tmpBytes: 1024 * 1024 }
  const [program = '', ...args] = confine({ sandbox: 'bwrap', bwrapFeatures }, confinement)
  try {
    await promisify(execFile)(program, [...args, 'true'], { env: PLAIN_ENV, timeout: 10_000 })
    return { status: 'usable' }
  } catch (error) {
    // 127: the shell that opens the filter did not find bubblewrap.
    if (errorCode(error) === 'ENOENT' || (error as { code?: unknown }).code === 127) return { status: 'missing' }
    const { stderr, message } = error as Error & { stderr?: string }
    return { status: 'blocked', reason: (stderr?.trim() || message).split('\n').at(-1) ?? message }
  }
}

/** Writes the filter of system calls to a file for bubblewrap. Returns its path; null if there is no filter for this machine. */
function writeFilter(stateDir: string): string | null {
  const filter = seccompFilter()
  if (filter === null) return null
  const file = join(stateDir, 'system-calls.bpf')
  replaceFile(file, filter)
  return file
}

/** Checks whether a program can be run as another user, permanently without privileges. */
export async function canDropTo(uid: number): Promise<boolean> {
  const [program = '', ...args] = dropTo(uid, uid)
  try {
    await promisify(execFile)(program, [...args, 'true'], { env: PLAIN_ENV, timeout: 10_000 })
    return true
  } catch {
    return false
  }
}

function dropTo(uid: number, gid: number): string[] {
  const ids = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups']
  return ['setpriv', ...ids, '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs']
}

/** Any descriptor that the shell and bwrap do not use. */
const FILTER_FD = 9

/** Returns the bwrap command. Inside, only the listed paths exist, with the same names. The network is not isolated by bwrap. */
function bwrap(
  { uid, readableDirs, writableDirs, tmpBytes }: Confinement,
  { filterFile, limitsTmp }: BwrapFeatures,
): string[] {
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
  const capabilities =
    uid === null ? ['--unshare-user'] : ['SETUID', 'SETGID', 'SETPCAP'].flatMap((name) => ['--cap-add', `CAP_${name}`])
  return [
    // bubblewrap reads the filter from a file descriptor, and closes it.
    filterFile === null ? [] : ['/bin/sh', '-c', `exec "$@" ${FILTER_FD}<"$0"`, filterFile],
    ['bwrap'],
    filterFile === null ? [] : ['--seccomp', String(FILTER_FD)],
    directory('/etc'),
    ['--ro-bind', '/usr', '/usr'],
    ...['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].map(systemDir),
    ...etc.map((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ['--proc', '/proc', '--dev', '/dev', '--remount-ro', '/dev'],
    [...(limitsTmp ? ['--size', String(tmpBytes)] : []), '--perms', '1777', '--tmpfs', '/tmp'],
    ...parents(binds.map(({ dir }) => dir)).map(directory),
    ...binds.map(({ dir, flag }) => [flag, dir, dir]),
    ['--remount-ro', '/'],
    ['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--hostname', 'squid', '--die-with-parent', '--new-session'],
    capabilities,
  ].flat()
}

/** Returns the arguments that create a traversable directory. Parents that bwrap creates for bind mounts are accessible only to root. */
function directory(dir: string): string[] {
  return ['--perms', '0755', '--dir', dir]
}

/** Returns the parent folders of `dirs` that must be created, outermost first. */
function parents(dirs: string[]): string[] {
  const parentDirs = new Set<string>()
  for (const dir of dirs) {
    for (let ancestor = dirname(dir); ancestor !== dirname(ancestor); ancestor = dirname(ancestor))
      parentDirs.add(ancestor)
  }
  const exists = (dir: string) =>
    dir === '/tmp' || /^\/(usr|etc|proc|dev|s?bin|lib\w*)(\/|$)/.test(dir) || isBelowOneOf(dir, dirs)
  return [...parentDirs].filter((dir) => !exists(dir)).sort((a, b) => a.length - b.length)
}

const isBelowOneOf = (path: string, dirs: string[]) => dirs.some((dir) => path === dir || path.startsWith(`${dir}/`))

/** Returns the arguments for `/lib`, `/bin` etc., which are links into /usr on merged systems and folders on others. */
function systemDir(name: string): string[] {
  const path = `/${name}`
  const entry = lstatSync(path, { throwIfNoEntry: false })
  if (!entry) return []
  return entry.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
}
