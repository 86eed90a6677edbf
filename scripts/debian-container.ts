import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from './root.ts'

/** A Debian with systemd as process 1, and Node with npm in /usr/local. It uses the network of this machine. */
export type DebianContainer = {
  /** Its root folder, as this machine sees it. */
  folder: string
  /** Runs a shell command as root in its home, and returns its output. @throws Error with its output if it fails */
  run: (command: string, timeoutMs?: number) => Promise<string>
  /** Ends all its processes as a shutdown does, and starts it again. */
  reboot: () => Promise<void>
  stop: () => Promise<void>
}

const cacheDir = join(root, 'node_modules/.cache/debian-container')
const suite = 'bookworm'

const packages = [
  'systemd,systemd-sysv,dbus,bubblewrap,iproute2,nftables,e2fsprogs,util-linux,procps,ca-certificates,curl,openssl',
  'nginx-light,caddy',
].join(',')

/** Returns what is missing for a container, as a sentence; null if nothing is. */
export function missingForContainer(): string | null {
  if (process.getuid?.() !== 0) return 'A Debian container needs root.'
  const programs = { 'systemd-nspawn': 'systemd-container', mmdebstrap: 'mmdebstrap', nsenter: 'util-linux' }
  const missing = Object.entries(programs).filter(([program]) => !existsSync(join('/usr/bin', program)))
  return missing.length === 0
    ? null
    : `A Debian container needs ${missing.map(([, name]) => name).join(', ')} (apt-get install --no-install-recommends).`
}

const execute = (program: string, args: string[]) => execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })

/** Makes the files of the container, once. Takes about a minute and a half. */
function ensureFiles(): string {
  const files = join(cacheDir, 'files')
  if (existsSync(files)) return files
  mkdirSync(cacheDir, { recursive: true, mode: 0o755 })
  const part = `${files}.part`
  rmSync(part, { recursive: true, force: true })
  execute('mmdebstrap', ['--quiet', '--variant=minbase', `--include=${packages}`, suite, part])
  for (const unit of ['nginx.service', 'caddy.service'])
    execute('chroot', [part, 'systemctl', 'disable', '--quiet', unit])
  addNode(part)
  renameSync(part, files)
  return files
}

/** Adds this Node, the npm of this machine, its registry and the authorities of its certificates. */
function addNode(files: string): void {
  const npm = realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim())
  cpSync(realpathSync(process.execPath), join(files, 'usr/local/bin/node'))
  const options = { recursive: true, verbatimSymlinks: true }
  cpSync(dirname(dirname(npm)), join(files, 'usr/local/lib/node_modules/npm'), options)
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(files, 'usr/local/bin', name))
  const args = ['config', 'get', 'registry', '--loglevel=error']
  const registry = execFileSync('npm', args, { cwd: '/', encoding: 'utf8' })
  const authorities = '/etc/ssl/certs/ca-certificates.crt'
  mkdirSync(join(files, 'usr/local/etc'), { recursive: true })
  writeFileSync(
    join(files, 'usr/local/etc/npmrc'),
    `registry=${registry.trim().split('\n').at(-1)}\ncafile=${authorities}\n`,
  )
  cpSync(authorities, join(files, authorities), { dereference: true })
}

/** Starts a container with a separate copy of the files. @throws Error if systemd does not start */
export async function startDebianContainer(): Promise<DebianContainer> {
  const files = ensureFiles()
  const parent = mkdtempSync(join(cacheDir, 'run-'))
  chmodSync(parent, 0o755)
  const folder = join(parent, 'root')
  execute('cp', ['-a', files, folder])
  let container: ChildProcess = await boot(folder)
  const init = () => Number(readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8').split(' ')[0])
  const shutDown = async () => {
    if (container.exitCode !== null || container.signalCode !== null) return
    const ended = new Promise<void>((done) => container.once('exit', () => done()))
    // SIGRTMIN+4 makes systemd shut down; nspawn sends it when it receives SIGTERM.
    container.kill('SIGTERM')
    await ended
  }
  return {
    folder,
    run: (command, timeoutMs = 900_000) => runIn(init(), command, timeoutMs),
    reboot: async () => {
      await shutDown()
      container = await boot(folder)
    },
    stop: async () => {
      await shutDown()
      rmSync(parent, { recursive: true, force: true })
    },
  }
}

async function boot(folder: string): Promise<ChildProcess> {
  const options = ['--boot', '--capability=all', '--private-users=no', '--register=no', '--keep-unit']
  const files = ['--link-journal=no', '--resolv-conf=replace-host', '--console=pipe']
  const args = ['--quiet', `--directory=${folder}`, ...options, ...files]
  const container = spawn('systemd-nspawn', [...args, '--system-call-filter=add_key keyctl bpf @mount'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [container.stdout, container.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const deadline = performance.now() + 180_000
  for (;;) {
    const [child] = childrenOf(container.pid ?? 0)
    const state = child ? await runIn(child, 'systemctl is-system-running || true', 10_000).catch(() => '') : ''
    if (/^(running|degraded)/.test(state)) return container
    if (container.exitCode !== null || performance.now() > deadline) {
      container.kill('SIGKILL')
      throw new Error(`The Debian container did not start (${state.trim()}):\n${output.slice(-3000)}`)
    }
    await delay(250)
  }
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
