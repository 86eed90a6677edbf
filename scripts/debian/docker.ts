import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { removeCgroups, rootCgroups } from './cgroups.ts'
import { createNetwork, type ContainerNetwork } from './network.ts'

/** A Docker daemon with separate folders and a separate network, so that nothing on this machine changes. */
export type Docker = Pick<ContainerNetwork, 'address' | 'hostAddress' | 'forward'> & {
  /** Runs `docker` with these arguments, and returns its output. @throws Error with its output if it fails */
  docker: (...args: string[]) => string
  /** Runs Compose in `folder`, with `env` in addition to this process's environment. Returns and throws like `docker`. */
  compose: (folder: string, env: Record<string, string>, ...args: string[]) => string
  /** Imports the files of a folder as an image. */
  importImage: (folder: string, name: string) => void
  stop: () => Promise<void>
}

const dockerd = '/usr/sbin/dockerd'

/** Returns the command of Compose, which is a program in Debian and a plugin of Docker; null if it is not installed. */
function composeCommand(): string[] | null {
  if (existsSync('/usr/bin/docker-compose')) return ['/usr/bin/docker-compose']
  try {
    execFileSync('docker', ['compose', 'version'], { stdio: 'ignore' })
    return ['docker', 'compose']
  } catch {
    return null
  }
}

/** Returns a sentence about what this machine lacks for a Docker daemon; null if it lacks nothing. */
export function missingForDocker(): string | null {
  if (process.getuid?.() !== 0) return 'Docker needs root.'
  if (existsSync(dockerd) && composeCommand() !== null) return null
  return 'Docker needs the packages docker.io and docker-compose (apt-get install --no-install-recommends).'
}

/** Starts a daemon. @throws Error with its log if it does not respond */
export async function startDocker(): Promise<Docker> {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-docker-'))
  const socket = join(folder, 'docker.sock')
  const cgroup = `shoal-docker-${process.pid}`
  const network = createNetwork()
  const env = { ...process.env, DOCKER_HOST: `unix://${socket}`, DOCKER_BUILDKIT: '0', COMPOSE_DOCKER_CLI_BUILD: '0' }
  const run = (program: string, args: string[], options: { cwd?: string; env?: Record<string, string> } = {}) => {
    try {
      const all = { ...env, ...options.env }
      return execFileSync(program, args, { ...options, env: all, encoding: 'utf8', stdio: 'pipe', maxBuffer: 2 ** 28 })
    } catch (error) {
      const { stdout, stderr } = error as { stdout?: string; stderr?: string }
      throw new Error(`${program} ${args.join(' ')} failed:\n${stdout ?? ''}${stderr ?? ''}`, { cause: error })
    }
  }
  const paths = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')]
  const files = ['--pidfile', join(folder, 'pid'), '--host', `unix://${socket}`]
  mkdirSync(join(folder, 'data'))
  const daemon = spawn(
    'nsenter',
    [`--net=${network.path}`, dockerd, ...paths, ...files, `--cgroup-parent=/${cgroup}`],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let log = ''
  for (const stream of [daemon.stdout, daemon.stderr]) stream.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const ended = new Promise<void>((done) => daemon.once('exit', () => done()))
  const stop = async () => {
    daemon.kill('SIGTERM')
    await ended
    network.remove()
    await removeCgroups(rootCgroups(cgroup))
    rmSync(folder, { recursive: true, force: true })
  }
  const deadline = performance.now() + 60_000
  for (;;) {
    try {
      run('docker', ['version'])
      break
    } catch (error) {
      if (daemon.exitCode === null && performance.now() < deadline) await delay(100)
      else {
        await stop()
        throw new Error(`The Docker daemon does not respond:\n${log.slice(-3000)}`, { cause: error })
      }
    }
  }
  const [program = '', ...first] = composeCommand() ?? []
  return {
    address: network.address,
    hostAddress: network.hostAddress,
    forward: network.forward,
    docker: (...given) => run('docker', given),
    compose: (cwd, settings, ...given) => run(program, [...first, ...given], { cwd, env: settings }),
    importImage: (files, name) =>
      void run('sh', [
        '-c',
        'tar -C "$1" -c --exclude=./proc --exclude=./sys . | docker import - "$2"',
        'sh',
        files,
        name,
      ]),
    stop,
  }
}
