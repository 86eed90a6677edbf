import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { vi } from 'vitest'
import type { Behaviour, Elsewhere, Harness } from '../driver-suite.ts'
import { ManualClock } from '../manual-clock.ts'
import { endBoxes } from './box.ts'
import { cgroupNames, removeCgroupBase } from './cgroup.ts'
import { makeTraversable } from './container-record.ts'
import { type Host, prepareHost } from './host.ts'
import { type Kind, noteHost } from './host-harness.ts'
import { markOf } from './launch-script.ts'
import { listProcesses, startEnvironment } from './processes.ts'
import { createProcessDirectory } from './process-directory.ts'
import { type ProcessDriverOptions, createProcessRuntime } from './process-driver.ts'
import { Sockets } from './sockets.ts'

/** The program of tests, controlled by the variable BEHAVIOUR. */
const PROGRAM = `
const { print = [], printLast = '', ends = 'never' } = JSON.parse(process.env.BEHAVIOUR)
process.stdout.write(print.map((line) => line + '\\n').join('') + printLast)
if (ends === 'never') setInterval(() => {}, 60_000)
else if (ends === 'out of memory') for (const all = []; ; ) all.push(Buffer.alloc(1024 * 1024, 1))
else process.exitCode = ends.exit
`

export type ProcessHarness = Harness & { options: ProcessDriverOptions; host: Host }

/** A fresh state directory with an image, and the process driver on it. */
export async function openProcessHarness(
  kind: Partial<Kind>,
  more: Partial<ProcessDriverOptions> = {},
): Promise<ProcessHarness> {
  const root = mkdtempSync(join(tmpdir(), 'shoal-process-'))
  // Containers run as other users, which must be able to traverse to their images.
  chmodSync(root, 0o711)
  const clock = new ManualClock()
  const options = { ...kind, stateDir: join(root, 'state'), imagesDir: join(root, 'images'), clock, ...more }
  makeTraversable(options.imagesDir)
  makeImage(options.imagesDir, 'image-1', PROGRAM)
  const host = await prepareHost(options)
  noteHost(host)
  const harness = {
    runtime: createProcessRuntime(options),
    directory: createProcessDirectory(options),
    elsewhere: () => openElsewhere(options.stateDir),
    unstarted: () => ({ runtime: createProcessRuntime(options), directory: createProcessDirectory(options) }),
    options,
    host,
    image: 'image-1',
    enforcesMemory: host.cgroups !== null,
    program: (behaviour: Behaviour) => ({
      command: ['node', 'main.cjs'],
      env: { BEHAVIOUR: JSON.stringify(behaviour) },
    }),
    advance: (ms: number) => clock.advance(ms),
    eventually: (check: () => Promise<void>) => vi.waitFor(check, { timeout: 10_000, interval: 10 }),
    kill: () => harness.runtime.close('keep'),
    async revive() {
      harness.runtime = createProcessRuntime(options)
      await harness.runtime.start()
    },
    traces: async () => traces(host, options.stateDir),
    async dispose() {
      await harness.directory.close()
      await harness.runtime.close('stop').catch(() => undefined)
      await endBoxes(host, '')
      new Sockets(host).clear()
      if (host.cgroups) await removeCgroupBase(host.cgroups)
      rmSync(root, { recursive: true })
    },
  }
  await harness.runtime.start()
  await harness.directory.start()
  return harness
}

/** A directory in a separate process. */
async function openElsewhere(stateDir: string): Promise<Elsewhere> {
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
  /** Beside the program, by name. */
  files?: Record<string, string>
  /** Without it: no `sqd`, `npm` and `npx`, and the Node of the test. */
  toolchain?: { binDir: string; nodeBinDir: string }
}

/** An image as the builder makes it, with one program. */
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

/** Pids of all programs of containers of this host's state directory. */
export function containerPids(host: Host): number[] {
  const marked = listProcesses().filter(({ pid }) => markOf(startEnvironment(pid))?.startsWith(`${host.label}/`))
  return marked.map(({ pid }) => pid)
}

function traces(host: Host, stateDir: string): string[] {
  const sockets = new Sockets(host).root
  return [
    ...containerPids(host).map((pid) => `process ${pid}`),
    ...(host.cgroups ? cgroupNames(host.cgroups) : []).map((name) => `cgroup ${name}`),
    ...[join(stateDir, 'containers'), sockets, join(sockets, 'published')].flatMap((dir) =>
      readdirSync(dir).map((name) => join(dir, name)),
    ),
  ].filter((trace) => trace !== join(sockets, 'published'))
}
