import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { removeCgroups, rootCgroups } from './cgroups.ts'
import { createNetwork, type ContainerNetwork } from './network.ts'

/** A Docker daemon with separate folders and a separate network, so that nothing on this machine changes. */
export type Docker = Pick<ContainerNetwork, 'address' | 'hostAddress' | 'exposeHostPort'> & {
  /** Runs `docker` with these arguments, and returns its output. @throws Error with its output if it fails */
  docker: (...args: string[]) => string
  /** Runs Compose in `folder`. Returns and throws like `docker`. */
  compose: (folder: string, ...args: string[]) => string
  /** Runs a script of commands on a terminal in `folder`; it ends when one fails. Returns and throws like `docker`. */
  script: (folder: string, commands: string) => string
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

/** Makes `docker compose` work where Compose is only a program. */
const composeFunction = `docker() {
  if [ "$1" = compose ]; then shift; command docker-compose "$@"; else command docker "$@"; fi
}
`

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
  const env = {
    ...process.env,
    DOCKER_HOST: `unix://${socket}`,
    DOCKER_BUILDKIT: '0',
    COMPOSE_DOCKER_CLI_BUILD: '0',
    COMPOSE_HTTP_TIMEOUT: '600',
  }
  const run = (program: string, args: string[], cwd?: string) => {
    try {
      const options = { ...(cwd !== undefined && { cwd }), env }
      return execFileSync(program, args, { ...options, encoding: 'utf8', stdio: 'pipe', maxBuffer: 2 ** 28 })
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
    exposeHostPort: network.exposeHostPort,
    docker: (...given) => run('docker', given),
    compose: (cwd, ...given) => run(program, [...first, ...given], cwd),
    script: (cwd, commands) => {
      const file = join(folder, 'script')
      writeFileSync(file, `set -e\n${first.length === 0 ? composeFunction : ''}${commands}`)
      return run('script', ['--quiet', '--return', '--command', `sh ${file}`, '/dev/null'], cwd)
    },
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
