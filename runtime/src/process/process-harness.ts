import { fork } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Behaviour, RemoteDirectory, Harness } from '../driver-suite.ts'
import { ManualClock } from '../manual-clock.ts'
import { endIsolatedPrograms } from './isolated-program.ts'
import { cgroupNames, removeCgroupBase } from './cgroup.ts'
import { makeTraversable } from './container-record.ts'
import { type Host, prepareHost } from './host.ts'
import { type HostKind, recordIsolation } from './host-harness.ts'
import { markOf } from './launch-script.ts'
import { listProcesses, initialEnvironment } from './processes.ts'
import { createProcessDirectory } from './process-directory.ts'
import { type ProcessDriverOptions, createProcessRuntime } from './process-driver.ts'
import { ContainerSockets } from './sockets.ts'
import { until } from '../until.ts'

/** The program that tests run. The variable BEHAVIOUR controls it. */
const PROGRAM = `
const { print = [], printLast = '', ends = 'never' } = JSON.parse(process.env.BEHAVIOUR)
process.stdout.write(print.map((line) => line + '\\n').join('') + printLast)
if (ends === 'never') setInterval(() => {}, 60_000)
else if (ends === 'out of memory') for (const all = []; ; ) all.push(Buffer.alloc(1024 * 1024, 1))
else process.exitCode = ends.exit
`

export type ProcessHarness = Harness & { options: ProcessDriverOptions; host: Host }

/** Creates a state directory with an image, and starts the process driver on it. */
export async function openProcessHarness(
  kind: Partial<HostKind>,
  overrides: Partial<ProcessDriverOptions> = {},
): Promise<ProcessHarness> {
  const root = mkdtempSync(join(tmpdir(), 'shoal-process-'))
  // Containers run as other users, which must be able to traverse to their images.
  chmodSync(root, 0o711)
  const clock = new ManualClock()
  const options = { ...kind, stateDir: join(root, 'state'), imagesDir: join(root, 'images'), clock, ...overrides }
  makeTraversable(options.imagesDir)
  makeImage(options.imagesDir, 'image-1', PROGRAM)
  const host = await prepareHost(options)
  recordIsolation(host)
  const harness = {
    runtime: createProcessRuntime(options),
    directory: createProcessDirectory(options),
    openRemoteDirectory: () => openRemoteDirectory(options.stateDir),
    unstarted: () => ({ runtime: createProcessRuntime(options), directory: createProcessDirectory(options) }),
    options,
    host,
    lacks: {},
    maxCrashes: 3,
    hasNodes: false,
    image: 'image-1',
    missingImage: 'no-such-image',
    enforcesMemory: host.cgroups !== null,
    program: (behaviour: Behaviour) => ({
      command: ['node', 'main.cjs'],
      env: { BEHAVIOUR: JSON.stringify(behaviour) },
    }),
    advance: (ms: number) => clock.advance(ms),
    eventually: (check: () => Promise<void>) => until(check),
    kill: () => harness.runtime.close('keep'),
    async restart() {
      harness.runtime = createProcessRuntime(options)
      await harness.runtime.start()
    },
    leftovers: async () => leftovers(host, options.stateDir),
    async dispose() {
      await harness.directory.close()
      await harness.runtime.close('stop').catch(() => undefined)
      await endIsolatedPrograms(host, '')
      await host.network.adopt([])
      await host.network.detach()
      await host.disks.close()
      new ContainerSockets(host).clear()
      if (host.cgroups) await removeCgroupBase(host.cgroups)
      rmSync(root, { recursive: true })
    },
  }
  await harness.runtime.start()
  await harness.directory.start()
  return harness
}

/** Opens a directory in a separate process. */
async function openRemoteDirectory(stateDir: string): Promise<RemoteDirectory> {
  const child = fork(new URL('./directory-process.ts', import.meta.url), [stateDir])
  const send = async <T>(message: unknown): Promise<T> => {
    child.send(message as object)
    const [result] = await once(child, 'message')
    return result as T
  }
  await once(child, 'message')
  return {
    endpoint: (...query) => send({ query }),
    changes: () => send({ query: null }),
    close: async () => {
      const exited = once(child, 'exit')
      child.kill()
      await exited
    },
  }
}

type ImageParts = {
  /** Texts of files next to the program, by name. */
  files?: Record<string, string>
  /** Folder of Node. Default: the folder of the Node that runs the test, without `sqd`, `npm` and `npx`. */
  toolchain?: { binDir: string; nodeBinDir: string }
}

/** Creates an image with one program, in the format of the builder. */
export function makeImage(imagesDir: string, image: string, program: string, parts: ImageParts = {}): void {
  const appDir = join(imagesDir, image, 'app')
  const toolchainBinDir = parts.toolchain?.binDir ?? join(imagesDir, image, 'toolchain')
  mkdirSync(appDir, { recursive: true })
  mkdirSync(toolchainBinDir, { recursive: true })
  for (const [name, text] of Object.entries({ ...parts.files, 'main.cjs': program })) {
    mkdirSync(dirname(join(appDir, name)), { recursive: true })
    writeFileSync(join(appDir, name), text)
  }
  const nodeBinDir = parts.toolchain?.nodeBinDir ?? dirname(process.execPath)
  writeFileSync(join(imagesDir, image, 'image.json'), JSON.stringify({ nodeBinDir, toolchainBinDir, sdk: null }))
}

/** Returns the pids of all isolated programs of this host's state directory. */
export function containerPids(host: Host): number[] {
  const marked = listProcesses().filter(({ pid }) => markOf(initialEnvironment(pid))?.startsWith(`${host.label}/`))
  return marked.map(({ pid }) => pid)
}

/** Returns the names of the open networks of this host's state directory. */
function networksOf(host: Host): string[] {
  const dir = join(host.stateDir, 'networks')
  return existsSync(dir) ? readdirSync(dir) : []
}

/** Returns the loop devices whose files are in the state directory. */
export function loopDevicesOf(stateDir: string): string[] {
  const dir = '/sys/block'
  const names = existsSync(dir) ? readdirSync(dir).filter((name) => name.startsWith('loop')) : []
  const fileOf = (name: string) => {
    try {
      return readFileSync(join(dir, name, 'loop/backing_file'), 'utf8').trim()
    } catch {
      return ''
    }
  }
  return names.map((name) => `${name} ${fileOf(name)}`).filter((line) => line.includes(stateDir))
}

function leftovers(host: Host, stateDir: string): string[] {
  const sockets = new ContainerSockets(host).root
  return [
    ...containerPids(host).map((pid) => `process ${pid}`),
    ...(host.cgroups ? cgroupNames(host.cgroups) : []).map((name) => `cgroup ${name}`),
    ...networksOf(host),
    ...loopDevicesOf(stateDir),
    ...[join(stateDir, 'containers'), sockets, join(sockets, 'published')].flatMap((dir) =>
      readdirSync(dir).map((name) => join(dir, name)),
    ),
  ].filter((path) => path !== join(sockets, 'published'))
}
