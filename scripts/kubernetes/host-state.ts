import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from './machine.ts'

/** Everything on a host that a program can leave behind: one line for each thing, by kind. */
export type HostState = Map<string, Set<string>>

/** The folders into which the parts of a cluster write on a real node. */
const folders = ['/etc', '/etc/cni', '/opt', '/opt/cni', '/run', '/run/netns', '/var/lib', '/var/log', '/var/run']

/** Kernel settings that are not compared: those that change constantly, and those of network links, which are compared separately. */
const unstable =
  /^(kernel\/(random|ns_last_pid|pty\/nr|perf|sched_domain)|fs\/(dentry-state|inode|file-nr|aio-nr|quota)|net\/netfilter\/nf_conntrack_count|vm\/stat|net\/ipv[46]\/(conf|neigh)\/(?!all|default))/

/** Matches objects of Shoal servers, browsers and Postgres, which may run at the same time as the cluster. */
const ownedByOthers =
  /shoal-(db-)?[0-9a-f]{10}|\bsh?[0-9a-f]{8,}|\bshl\w+|inet shoal-\d+|\btestbed\b|pasta|overlay \/tmp|postgres|\/tmp\/s[ht]-/

/** Reads the state of the host, except for what a Shoal that runs at the same time creates and removes. */
export function readHostState(): HostState {
  const lines = (text: string) => text.split('\n').map((line) => line.trim())
  const state: Record<string, string[]> = {
    process: processesOfPrograms(),
    mount: lines(readFileSync('/proc/self/mounts', 'utf8')),
    route: lines(runProgram('ip', ['-4', 'route', 'show', 'table', 'all'])),
    'IPv6 route': lines(runProgram('ip', ['-6', 'route', 'show', 'table', 'all'])),
    link: lines(runProgram('ip', ['-brief', 'link'])),
    'nftables table': lines(runProgram('nft', ['list', 'tables'])),
    cgroup: subfolders('/sys/fs/cgroup', 3),
    setting: settings('/proc/sys', ''),
    file: folders.filter((folder) => existsSync(folder)).flatMap((folder) => entries(folder)),
  }
  return new Map(
    Object.entries(state).map(([kind, found]) => [
      kind,
      new Set(found.filter((line) => line !== '' && !ownedByOthers.test(line))),
    ]),
  )
}

/** Returns one line for each difference. */
export function differences(before: HostState, after: HostState): string[] {
  return [...before].flatMap(([kind, lines]) => {
    const now = after.get(kind) ?? new Set()
    const removed = [...lines].filter((line) => !now.has(line)).map((line) => `${kind} is missing: ${line}`)
    const added = [...now].filter((line) => !lines.has(line)).map((line) => `${kind} is new: ${line}`)
    return [...removed, ...added]
  })
}

function processesOfPrograms(): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const commands = pids.map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`)
  return commands.filter((command) => /^\d+ \S*\/(kube|containerd[\w-]*|docker-registry|runc|pod) /.test(command))
}

function subfolders(folder: string, depth: number): string[] {
  if (depth === 0) return []
  return foldersIn(folder).flatMap((path) => [path, ...subfolders(path, depth - 1)])
}

/** Returns the folders in a folder; none if it has just been removed. */
function foldersIn(folder: string): string[] {
  try {
    const found = readdirSync(folder, { withFileTypes: true })
    return found.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name))
  } catch {
    return []
  }
}

function settings(folder: string, prefix: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const name = `${prefix}${entry.name}`
    if (unstable.test(name)) return []
    if (entry.isDirectory()) return settings(join(folder, entry.name), `${name}/`)
    return [`${name}=${read(join(folder, entry.name)).trim().slice(0, 200)}`]
  })
}

function entries(folder: string): string[] {
  return readdirSync(folder).map((name) => join(folder, name))
}

/** Returns the text of a file; an empty string if it belongs to a process that has ended, or cannot be read. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
