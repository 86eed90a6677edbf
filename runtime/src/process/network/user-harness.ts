import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { commandLine, findProcess, listProcesses } from '../processes.ts'
import type { ConnectionLimits } from './connection-limits.ts'
import { findProgram } from './find-program.ts'
import { type NetworkTargets, type NetworkUse, noTargets } from './network.ts'
import { hasNamespaces } from './network-harness.ts'
import { runScript } from './run-script.ts'

/** The uid and gid of an ordinary user, who has no entry in /etc/passwd. */
export const USER = 64_713

/** Command prefix that runs a program as the ordinary user. */
export const asUser =
  `setpriv --reuid ${USER} --regid ${USER} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs`.split(' ')

/** Shell commands that give the user access to /dev/net/tun, in a mount namespace. */
export const PREPARE_TUN = `
mount -t tmpfs none /dev/net
mknod -m 666 /dev/net/tun c 10 200
`

/** Returns why networks without root cannot be tested here; null if they can. */
export async function reasonToSkip(): Promise<string | null> {
  if (!hasNamespaces) return 'they need root, iproute2 and nftables'
  const missing = ['pasta', 'bwrap'].find((name) => findProgram(name) === null)
  if (missing) return `${missing} is not installed`
  const canRun = `${PREPARE_TUN}\nexec ${asUser.join(' ')} unshare --user --net '${process.execPath}' --version </dev/net/tun`
  return await runScript(`unshare --mount /bin/sh -ec '${canRun.replaceAll("'", `'\\''`)}'`).then(
    () => null,
    (error: Error) => `an ordinary user cannot use /dev/net/tun, user namespaces or Node here: ${error.message}`,
  )
}

const moduleUrl = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)

const DRIVER = `
const { PastaNetwork } = await import(${moduleUrl('./pasta-network.ts')})
const { confine, findBwrap } = await import(${moduleUrl('../sandbox.ts')})
const { createInterface } = await import('node:readline')
const [stateDir, targets, watchMs, connections] = process.argv.slice(1)
const { features: bwrapFeatures } = await findBwrap(null, stateDir)
const files = { uid: null, readableDirs: [], writableDirs: [], tmpBytes: 1024 * 1024 }
const sandbox = confine({ sandbox: 'bwrap', bwrapFeatures }, files)
const options = { stateDir, label: 'user', number: 0, targets: JSON.parse(targets), watchMs: Number(watchMs) }
if (connections !== undefined) options.connections = JSON.parse(connections)
const network = await PastaNetwork.open(options, sandbox)
console.log(JSON.stringify({ value: sandbox }))
createInterface(process.stdin).on('line', async (line) => {
  const { id, method, args } = JSON.parse(line)
  const result = await network[method](...args).then((value) => ({ value }), (error) => ({ error: error.message }))
  console.log(JSON.stringify({ id, ...result }))
})
`

/** A server in a separate process of the ordinary user. `open`, `close`, `adopt` and `detach` call the methods of its network. */
export type UserServer = {
  /** Command prefix that confines a program as squids are. */
  sandbox: string[]
  open: (name: string, use: NetworkUse, uid?: null, limitedConnections?: number) => Promise<string[]>
  close: (name: string) => Promise<void>
  adopt: (names: string[]) => Promise<void>
  detach: () => Promise<void>
  /** Sends SIGKILL to the server only. */
  kill: () => Promise<void>
}

export type UserServerOptions = {
  stateDir: string
  targets?: NetworkTargets
  /** Shell commands that run as root before the server, in its mount namespace. */
  prepare?: string
  watchMs?: number
  connections?: ConnectionLimits
}

/** Starts a server as the ordinary user. @throws Error when networks do not work */
export async function startUserServer(options: UserServerOptions): Promise<UserServer> {
  const { stateDir, targets = noTargets, prepare = PREPARE_TUN, watchMs = 10_000, connections } = options
  chownSync(stateDir, USER, USER)
  const node = [
    process.execPath,
    '--input-type=module',
    '-e',
    DRIVER,
    stateDir,
    JSON.stringify(targets),
    String(watchMs),
    ...(connections ? [JSON.stringify(connections)] : []),
  ]
  const script = `${prepare}\nexec "$@"`
  const child = spawn('unshare', ['--mount', '/bin/sh', '-ec', script, 'sh', ...asUser, ...node], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()))
  const waiting = new Map<number, (reply: { value?: unknown; error?: string }) => void>()
  createInterface(child.stdout).on('line', (line) => {
    const reply = JSON.parse(line) as { id?: number; value?: unknown; error?: string }
    waiting.get(reply.id ?? 0)?.(reply)
  })
  child.on('close', () => waiting.forEach((resolve) => resolve({ error: `The server ended: ${errors}` })))
  const receive = async <T>(id: number): Promise<T> => {
    const { value, error } = await new Promise<{ value?: unknown; error?: string }>((done) => waiting.set(id, done))
    waiting.delete(id)
    if (error !== undefined) throw new Error(error)
    return value as T
  }
  let lastId = 0
  const call =
    <T>(method: string) =>
    (...args: unknown[]) => {
      const id = ++lastId
      child.stdin.write(`${JSON.stringify({ id, method, args })}\n`)
      return receive<T>(id)
    }
  const sandbox = await receive<string[]>(0)
  return {
    sandbox,
    open: call('open'),
    close: call('close'),
    adopt: call('adopt'),
    detach: call('detach'),
    kill: () => kill(child),
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** Returns the processes of the ordinary user's networks whose files are in a state directory. */
export const processesOf = (stateDir: string): { pid: number; program: string }[] =>
  listProcesses()
    .map(({ pid }) => ({ pid, args: commandLine(pid) }))
    .filter(({ args }) => args.some((arg) => arg.startsWith(`${stateDir}/pasta/`)))
    .map(({ pid, args }) => ({ pid, program: args[0] ?? '' }))

/** Ends the networks whose files are in a state directory, even if a test has killed some of their processes. */
export function killNetworks(stateDir: string): void {
  const groups = new Set(processesOf(stateDir).map(({ pid }) => findProcess(pid)?.session))
  for (const group of groups) if (group !== undefined) process.kill(-group, 'SIGKILL')
}
