import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createCgroups, removeCgroups } from './cgroups.ts'
import { cacheDir, ensureFiles, type FilesKind } from './files.ts'
import { createNetwork, type ContainerNetwork } from './network.ts'

/** A Debian with systemd as process 1, a separate network, cgroups and loop devices. */
export type DebianContainer = Pick<ContainerNetwork, 'address' | 'hostAddress' | 'exposeHostPort'> & {
  /** The path of its root folder on this machine. */
  folder: string
  /** Runs a shell command as root in its home, and returns its output. @throws Error with its output if it fails */
  run: (command: string, timeoutMs?: number) => Promise<string>
  /** Shuts the container down, and starts it again. */
  reboot: () => Promise<void>
  /** Shuts the container down, and deletes its files, network and cgroups. */
  stop: () => Promise<void>
}

const boundingSet = () =>
  existsSync('/proc/self/status') ? /^CapBnd:\t(.+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] : null

/** True if systemd can raise the limits of a service in a container. Bit 24 is CAP_SYS_RESOURCE. */
export const mayRaiseLimits = ((BigInt(`0x${boundingSet() ?? '0'}`) >> 24n) & 1n) === 1n

/** Returns a sentence about what this machine lacks for a container; null if it lacks nothing. */
export function missingForDebianContainer(): string | null {
  if (process.getuid?.() !== 0) return 'A Debian container needs root.'
  const programs = {
    '/usr/bin/systemd-nspawn': 'systemd-container',
    '/usr/bin/mmdebstrap': 'mmdebstrap',
    '/usr/bin/nsenter': 'util-linux',
    '/usr/sbin/nft': 'nftables',
    '/usr/sbin/ip': 'iproute2',
  }
  const missing = Object.entries(programs).filter(([program]) => !existsSync(program))
  return missing.length === 0
    ? null
    : `A Debian container needs ${missing.map(([, name]) => name).join(', ')} (apt-get install --no-install-recommends).`
}

/** Starts a container with a separate copy of the files. @throws Error if systemd does not start */
export async function startDebianContainer(kind: FilesKind = 'complete'): Promise<DebianContainer> {
  const files = ensureFiles(kind)
  const parent = mkdtempSync(join(cacheDir, 'run-'))
  chmodSync(parent, 0o755)
  const folder = join(parent, 'root')
  execFileSync('cp', ['-a', files, folder])
  const cgroups = createCgroups(`shoal-deb-${process.pid}`)
  const network = createNetwork()
  let container: ChildProcess | null = null
  const shutDown = async () => {
    if (container === null || container.exitCode !== null || container.signalCode !== null) return
    const ended = new Promise<void>((done) => container?.once('exit', () => done()))
    // On SIGTERM, nspawn sends SIGRTMIN+4 to systemd, which then shuts down.
    container.kill('SIGTERM')
    await ended
  }
  const stop = async () => {
    await shutDown()
    network.remove()
    await removeCgroups(cgroups)
    rmSync(parent, { recursive: true, force: true })
  }
  const start = async () => {
    container = spawnContainer(folder, network.path, cgroups)
    await untilBooted(container)
    await runIn(firstProcess(container), setUp, 60_000)
  }
  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    folder,
    address: network.address,
    hostAddress: network.hostAddress,
    exposeHostPort: network.exposeHostPort,
    run: (command, timeoutMs = 900_000) => runIn(firstProcess(container), command, timeoutMs),
    reboot: async () => {
      await shutDown()
      await start()
    },
    stop,
  }
}

/** Shell commands that make the container like a machine: nspawn mounts cgroups and /sys read-only, and provides no loop devices. */
const setUp = [
  'for folder in /sys/fs/cgroup/*/; do mount -o remount,bind,rw "$folder" 2>/dev/null || true; done',
  'mount -o remount,bind,rw /proc/sys',
  // The /sys that nspawn mounts belongs to the network namespace of this machine.
  'mkdir -p /run/sysfs && mount -t sysfs sysfs /run/sysfs',
  'for folder in class/net devices/virtual/net; do mount --bind /run/sysfs/$folder /sys/$folder; done',
  'mknod /dev/loop-control c 10 237; for n in $(seq 0 63); do mknod /dev/loop$n b 7 $n; done',
].join('\n')

function spawnContainer(folder: string, networkPath: string, cgroups: string[]): ChildProcess {
  const options = ['--boot', '--capability=all', '--private-users=no', '--register=no', '--keep-unit']
  const files = ['--link-journal=no', '--resolv-conf=replace-host', '--console=pipe']
  const network = `--network-namespace-path=${networkPath}`
  const calls = '--system-call-filter=add_key keyctl bpf @mount'
  const enter = 'for folder in $CGROUPS; do echo $$ > "$folder/cgroup.procs"; done; exec systemd-nspawn "$@"'
  return spawn('sh', ['-c', enter, 'sh', '--quiet', `--directory=${folder}`, ...options, ...files, network, calls], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CGROUPS: cgroups.join(' ') },
  })
}

async function untilBooted(container: ChildProcess): Promise<void> {
  let output = ''
  for (const stream of [container.stdout, container.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const deadline = performance.now() + 180_000
  for (;;) {
    const [child] = childrenOf(container.pid ?? 0)
    const state = child ? await runIn(child, 'systemctl is-system-running || true', 10_000).catch(() => '') : ''
    if (/^(running|degraded)/.test(state)) return
    if (container.exitCode !== null || performance.now() > deadline)
      throw new Error(`The Debian container did not start (${state.trim()}):\n${output.slice(-3000)}`)
    await delay(250)
  }
}

function firstProcess(container: ChildProcess | null): number {
  const [pid] = childrenOf(container?.pid ?? 0)
  if (pid === undefined) throw new Error('The Debian container is not running.')
  return pid
}

function childrenOf(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`)
    const read = (task: string) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
    return tasks.flatMap(read).join(' ').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** Runs a command in the namespaces of a process, with the environment of a new login. */
function runIn(pid: number, command: string, timeoutMs: number): Promise<string> {
  const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  const namespaces = ['-t', String(pid), '-m', '-u', '-i', '-p', '-n', '-C']
  const args = [...namespaces, 'env', '-i', path, 'HOME=/root', 'sh', '-c', `cd; ${command}`]
  return new Promise((done, fail) => {
    const child = spawn('nsenter', args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.once('error', fail)
    child.once('close', (code) =>
      code === 0 ? done(output) : fail(new Error(`${command} ended with ${code}:\n${output}`)),
    )
  })
}
