import { execFile, execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { unpackedFolder } from '../debian-packages.ts'
import { root } from '../root.ts'
import { removeCgroups, rootCgroups } from './cgroups.ts'
import { buildFromContainerfile } from './containerfile.ts'
import { cacheDir, ensureFiles } from './files.ts'
import { createNetwork, type ContainerNetwork } from './network.ts'
import { containerSpec, type Service } from './runc-spec.ts'

/** A container of the image of Shoal, started by runc, with a separate network. */
export type RuncContainer = Pick<ContainerNetwork, 'address' | 'hostAddress' | 'exposeHostPort'> & {
  /** Starts it with these variables in addition to those of the image. */
  start: (env: Record<string, string>) => void
  /** Runs a program in the container, and returns its output. @throws Error with its output if it fails */
  exec: (...args: string[]) => Promise<string>
  /** What it has printed since its last start. */
  log: () => string
  /** The exit code, once it has ended. */
  exitCode: () => number | null
  /** Ends it as Docker would, with SIGTERM, and keeps its volume. */
  stop: () => Promise<void>
  remove: () => Promise<void>
}

const findRunc = () =>
  [join(unpackedFolder('runc'), 'usr/sbin/runc'), '/usr/sbin/runc'].find((path) => existsSync(path)) ?? null

/** Returns a sentence about what this machine lacks to run containers with runc; null if it lacks nothing. */
export function missingForRunc(): string | null {
  if (process.getuid?.() !== 0) return 'runc needs root.'
  return findRunc() === null ? 'runc is missing (apt-get install --no-install-recommends runc).' : null
}

/** Makes a container of the image that deploy/Containerfile describes, with the privileges and limits of deploy/compose.yaml. `context`: the folder with the release in `dist/`. */
export function createRuncContainer(context: string): RuncContainer {
  const runc = findRunc() ?? 'runc'
  // runc refuses a path with symbolic links.
  const folder = realpathSync(mkdtempSync(join(cacheDir, 'runc-')))
  const files = join(folder, 'rootfs')
  execFileSync('cp', ['-a', ensureFiles(), files])
  cpSync('/etc/resolv.conf', join(files, 'etc/resolv.conf'), { dereference: true })
  const image = buildFromContainerfile(files, context)
  const compose = parse(readFileSync(join(root, 'deploy/compose.yaml'), 'utf8')) as { services: { shoal: Service } }
  const volume = join(folder, 'volume')
  mkdirSync(volume)
  const network = createNetwork()
  const cgroup = `shoal-runc-${process.pid}`
  const id = cgroup
  // Asynchronously: this process also forwards connections of the container.
  const run = async (...args: string[]) => {
    try {
      return (await promisify(execFile)(runc, ['--root', join(folder, 'state'), ...args])).stdout
    } catch (error) {
      const { stdout, stderr } = error as { stdout?: string; stderr?: string }
      throw new Error(`runc ${args.join(' ')} failed:\n${stdout ?? ''}${stderr ?? ''}`, { cause: error })
    }
  }
  let output = ''
  let isRunning = false
  let exitCode: number | null = null
  let ended = Promise.resolve()
  const stop = async () => {
    if (isRunning) await run('kill', id, 'TERM')
    await ended
  }
  return {
    address: network.address,
    hostAddress: network.hostAddress,
    exposeHostPort: network.exposeHostPort,
    start: (env) => {
      const spec = containerSpec({
        image: { ...image, env: { ...image.env, ...env } },
        service: compose.services.shoal,
        files,
        volume,
        networkPath: network.path,
        cgroup,
      })
      writeFileSync(join(folder, 'config.json'), JSON.stringify(spec))
      output = ''
      exitCode = null
      isRunning = true
      const child = spawn(runc, ['--root', join(folder, 'state'), 'run', '--bundle', folder, id], {
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
      ended = new Promise((done) =>
        child.once('close', (code) => {
          exitCode = code ?? 1
          isRunning = false
          done()
        }),
      )
    },
    exec: (...args) => run('exec', id, ...args),
    log: () => output,
    exitCode: () => exitCode,
    stop,
    remove: async () => {
      await stop()
      network.remove()
      await removeCgroups(rootCgroups(cgroup))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
