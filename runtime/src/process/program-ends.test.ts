import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { testToolchain } from '../build/builder-harness.ts'
import { DEFAULT_NODE } from '../build/tools.ts'
import type { ContainerSpec } from '../driver.ts'
import {
  DONE,
  ENDINGS,
  FILES,
  SHELL_HIDING_ENDING,
  KILLED,
  PROGRAM,
  WRAPPERS,
  type Wrapper,
  crash,
  isTested,
} from '../driver-suite-ends.ts'
import { cgroupNames } from './cgroup.ts'
import { type HostKind, describeKinds } from './host-harness.ts'
import { markOf } from './launch-script.ts'
import { listProcesses, signal, initialEnvironment } from './processes.ts'
import { type ProcessHarness, makeImage, openProcessHarness } from './process-harness.ts'
import { until } from '../until.ts'

const MIB = 1024 * 1024

let toolchain: { binDir: string; nodeBinDir: string }

beforeAll(async () => {
  const installed = await testToolchain()
  toolchain = { binDir: installed.binDir, nodeBinDir: (await installed.node(DEFAULT_NODE)).binDir }
})

const isFull = process.env['SHOAL_TEST_FULL'] === 'true'

const KINDS = [
  { sandbox: 'auto', limits: 'auto', workFolders: 'auto', wrappers: Object.keys(WRAPPERS) as Wrapper[] },
  { sandbox: 'none', limits: 'auto', workFolders: 'links', wrappers: ['sqd process:prod', 'node'] },
] satisfies (HostKind & { wrappers: Wrapper[] })[]

describeKinds(KINDS, ({ wrappers, ...kind }) => {
  let harness: ProcessHarness

  beforeEach(async () => {
    harness = await openProcessHarness(kind)
    makeImage(harness.options.imagesDir, 'squid', PROGRAM, { files: FILES, toolchain })
  })

  afterEach(() => harness.dispose())

  const apply = (ending: string, command: string[]) => {
    const processor: ContainerSpec = {
      name: 'processor',
      command,
      env: { ENDING: ending },
      resources: { cpuCores: 1, memoryBytes: 256 * MIB },
      restart: 'on-failure',
      ports: [],
      stopGraceMs: 200,
    }
    return harness.runtime.apply({ id: 'one', tenant: 'org', version: 'one', image: 'squid', containers: [processor] })
  }

  const observe = async () => (await harness.runtime.observe())[0]

  /** Returns the programs of this host whose command line matches. */
  const programs = (isMatch: (args: string[]) => boolean) =>
    listProcesses().filter(({ pid }) => {
      const isOurs = markOf(initialEnvironment(pid))?.startsWith(`${harness.host.label}/`)
      return isOurs && isMatch(argumentsOf(pid))
    })
  const mainPrograms = () =>
    programs((args) => args.length === 2 && /(^|\/)node$/.test(args[0] ?? '') && args[1] === 'main.cjs')

  /** Returns the number of kills that the kernel has counted in the container's cgroup. */
  const kernelKills = () => {
    const { cgroups } = harness.host
    if (!cgroups) throw new Error('The container has no cgroup')
    const [name = ''] = cgroupNames(cgroups)
    const file =
      cgroups.version === 1
        ? join(cgroups.memory, name, 'memory.oom_control')
        : join(cgroups.unified, name, 'memory.events')
    return Number(/^oom_kill (\d+)$/m.exec(readFileSync(file, 'utf8'))?.[1])
  }

  const untilUp = () =>
    until(async () => {
      expect(await harness.runtime.tail('one', 'processor', 1)).toEqual(['up'])
      expect(mainPrograms()).toHaveLength(1)
    })

  describe.each(ENDINGS)('a program with the ending "$ending"', ({ ending, killSignal, expected }) => {
    test.each(wrappers.filter((wrapper) => isTested(wrapper, ending, isFull)))(
      'is reported, and restarted unless it is done, when started by %s',
      async (wrapper) => {
        await apply(killSignal ? 'never' : ending, WRAPPERS[wrapper])
        if (killSignal) {
          await untilUp()
          for (const { pid } of mainPrograms()) signal(pid, killSignal)
        }
        await until(async () => expect(await observe()).toMatchObject(expected))
        expect(kernelKills()).toBe(expected.lastRun.oomKills)
        expect(await harness.runtime.usage()).toMatchObject([{ oomKills: expected.lastRun.oomKills }])
        harness.advance(1000)
        const { exitCode } = expected.lastRun
        const running = { state: 'running', run: { ordinal: 1 }, lastRun: { ordinal: 0, exitCode } }
        const afterRestart = killSignal ? running : { state: 'backoff', lastRun: { ordinal: 1, exitCode } }
        await until(async () =>
          expect(await observe()).toMatchObject(expected.state === 'finished' ? DONE : afterRestart),
        )
      },
    )
  })

  test('an out-of-memory kill that a shell hides is reported', async () => {
    await apply('out of memory', SHELL_HIDING_ENDING.command)
    await until(async () => expect(await observe()).toMatchObject(SHELL_HIDING_ENDING.expected))
  })

  test.each(['sqd process', 'npm run', 'npx'] as const)(
    'when %s is killed, its children end too, even while no server is running',
    async (wrapper) => {
      await apply('never', WRAPPERS[wrapper])
      await untilUp()
      await harness.kill()
      const [main] = mainPrograms()
      const ancestors = programs(() => true).filter(({ pid }) => isAncestor(pid, main?.pid ?? 0))
      const topmost = ancestors.find(({ pid }) => /^(npm|.*node$)/.test(argumentsOf(pid)[0] ?? ''))
      signal(topmost?.pid ?? 0, 'SIGKILL')
      await until(async () => expect(mainPrograms()).toEqual([]))
      await harness.restart()
      await until(async () => expect(await observe()).toMatchObject(crash(KILLED, 'It was ended by SIGKILL')))
      harness.advance(1000)
      await untilUp()
    },
  )

  test.each(['node', 'sqd process'] as const)(
    'an out-of-memory kill of a child is counted, but does not end %s or affect how its later end is reported',
    async (wrapper) => {
      await apply('child out of memory', WRAPPERS[wrapper])
      await until(async () => expect(await harness.runtime.tail('one', 'processor', 1)).toEqual(['child SIGKILL']))
      expect(kernelKills()).toBe(1)
      expect(await harness.runtime.usage()).toMatchObject([{ oomKills: 1 }])
      expect(await observe()).toMatchObject({ state: 'running', run: { ordinal: 0 } })
      harness.advance(2000)
      signal(mainPrograms()[0]?.pid ?? 0, 'SIGKILL')
      await until(async () =>
        expect(await observe()).toMatchObject({
          state: 'backoff',
          lastRun: { exitCode: KILLED, how: 'error', oomKills: 1 },
        }),
      )
    },
  )
})

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean)
  } catch {
    return []
  }
}

/** True when the process `pid` is an ancestor of the process `descendant`. */
function isAncestor(pid: number, descendant: number): boolean {
  const parents = new Map(listProcesses().map((info) => [info.pid, info.parent]))
  for (let ancestor = parents.get(descendant); ancestor !== undefined && ancestor > 1; ancestor = parents.get(ancestor))
    if (ancestor === pid) return true
  return false
}
