import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { testToolchain } from '../build/builder-harness.ts'
import { DEFAULT_NODE } from '../build/tools.ts'
import type { ContainerSpec, RunOutcome } from '../driver.ts'
import type { Expected } from '../driver-suite.ts'
import { cgroupNames } from './cgroup.ts'
import { type HostKind, describeKinds } from './host-harness.ts'
import { markOf } from './launch-script.ts'
import { listProcesses, signal, initialEnvironment } from './processes.ts'
import { type ProcessHarness, makeImage, openProcessHarness } from './process-harness.ts'
import { until } from '../until.ts'

const MIB = 1024 * 1024
const KILLED = 137

/** The source of a squid’s program. */
const PROGRAM = `
const { spawn } = require('node:child_process')
const { ENDS } = process.env
const fill = () => { for (const all = []; ; ) all.push(Buffer.alloc(1024 * 1024, 1)) }
console.log('up')
if (process.argv[2] === 'fill') fill()
else if (ENDS === 'exit 0' || ENDS === 'exit 3') process.exitCode = Number(ENDS.at(-1))
else if (ENDS === 'SIGSEGV') process.kill(process.pid, 'SIGSEGV')
else if (ENDS === 'out of memory') fill()
else {
  // The kernel kills this child first, regardless of its size.
  if (ENDS === 'child out of memory') spawn('sh', ['-c', 'echo 1000 >/proc/self/oom_score_adj; exec node main.cjs fill'], { stdio: 'inherit' })
    .on('exit', (code, signal) => console.log('child', code ?? signal))
  setInterval(() => {}, 60_000)
}
`

const FILES = {
  'package.json': JSON.stringify({ name: 'squid', version: '1.0.0', scripts: { process: 'node main.cjs' } }),
  'commands.json': JSON.stringify({
    commands: {
      migration: { cmd: ['node', '-e', ''] },
      process: { cmd: ['node', 'main.cjs'] },
      'process:prod': { deps: ['migration'], cmd: ['node', 'main.cjs'] },
    },
  }),
}

/** The commands with which squids start their programs. */
const WRAPPERS = {
  'sqd process': ['sqd', 'process'],
  'sqd process:prod': ['sqd', 'process:prod'],
  'npm run': ['npm', 'run', 'process'],
  npx: ['npx', 'node', 'main.cjs'],
  'sh -c': ['sh', '-c', 'node main.cjs'],
  node: ['node', 'main.cjs'],
}

type ExpectedEnd = Expected & { lastRun: { exitCode: number; how: RunOutcome; oomKills: number } }

const DONE: ExpectedEnd = { state: 'finished', lastRun: { exitCode: 0, how: 'done', oomKills: 0 }, reason: null }
const crash = (exitCode: number, reason: string): ExpectedEnd => ({
  state: 'backoff',
  lastRun: { exitCode, how: 'error', oomKills: 0 },
  reason,
})

/** How the program ends, and the expected observation. Programs with `killSignal` run until they receive the signal. */
const ENDINGS: { ends: string; killSignal?: NodeJS.Signals; expected: ExpectedEnd }[] = [
  { ends: 'exit 0', expected: DONE },
  { ends: 'exit 3', expected: crash(3, 'It ended with exit code 3') },
  { ends: 'SIGKILL', killSignal: 'SIGKILL', expected: crash(KILLED, 'It was ended by SIGKILL') },
  { ends: 'SIGTERM', killSignal: 'SIGTERM', expected: crash(143, 'It was ended by SIGTERM') },
  { ends: 'SIGSEGV', expected: crash(139, 'It was ended by SIGSEGV') },
  {
    ends: 'out of memory',
    expected: {
      ...crash(KILLED, 'It used more memory than its profile allows and was stopped'),
      lastRun: { exitCode: KILLED, how: 'oom', oomKills: 1 },
    },
  },
]

let toolchain: { binDir: string; nodeBinDir: string }

beforeAll(async () => {
  const installed = await testToolchain()
  toolchain = { binDir: installed.binDir, nodeBinDir: (await installed.node(DEFAULT_NODE)).binDir }
})

type Wrapper = keyof typeof WRAPPERS

const isFull = process.env['SHOAL_TEST_FULL'] === 'true'

/** Whether this run tests the combination. By default it tests each wrapper with two endings, and `node` with all; `npm run test:full` tests all. */
const isTested = (wrapper: Wrapper, ends: string) => {
  const wrapperIndex = Object.keys(WRAPPERS).indexOf(wrapper)
  const endingIndex = ENDINGS.findIndex((ending) => ending.ends === ends)
  return isFull || wrapper === 'node' || (wrapperIndex + endingIndex) % 3 === 0
}

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

  const apply = (ends: string, wrapper: Wrapper) => {
    const processor: ContainerSpec = {
      name: 'processor',
      command: WRAPPERS[wrapper],
      env: { ENDS: ends },
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

  describe.each(ENDINGS)('a program that ends by $ends', ({ ends, killSignal, expected }) => {
    test.each(wrappers.filter((wrapper) => isTested(wrapper, ends)))(
      'is reported, and restarted unless it is done, when started by %s',
      async (wrapper) => {
        await apply(ends, wrapper)
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

  test.each(['sqd process', 'npm run', 'npx'] as const)(
    'when %s is killed, its children end too, even while no server is running',
    async (wrapper) => {
      await apply('never', wrapper)
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
      await apply('child out of memory', wrapper)
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
