import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  ENDINGS,
  FILES,
  SHELL_HIDING_ENDING,
  PROGRAM,
  WRAPPERS,
  type Wrapper,
  isTested,
} from '@shoal/runtime/driver-suite-ends'
import { beforeAll, describe, test } from 'vitest'
import { makeBareSquid } from '../support/bare-squid.ts'
import { buildImage, openImageBuilder } from '../support/image-builder.ts'
import { hasCluster } from '../support/kubernetes.ts'
import { isFull } from '../support/tier.ts'
import { container, openDriver, workload } from './driver-harness.ts'

const MIB = 1024 * 1024
const isPossible = hasCluster && process.env['SHOAL_TEST_REGISTRY'] !== undefined

/** The ends of programs, as `runtime/src/process/program-ends.test.ts` tests them for the process driver. */
describe.skipIf(!isPossible)('programs in pods', () => {
  let image: string

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ends-image-'))
    chmodSync(folder, 0o711)
    const project = makeBareSquid('squid', { 'main.cjs': PROGRAM, ...FILES })
    try {
      image = await buildImage(await openImageBuilder(folder), { key: 'ends', project, paths: ['.'] })
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
      rmSync(dirname(project), { recursive: true })
    }
  }, 600_000)

  const program = (name: string, command: string[], ends: string) =>
    container(name, {
      command,
      env: { ENDS: ends },
      resources: { cpuCores: 1, memoryBytes: 256 * MIB },
      stopGraceMs: 1000,
    })

  const wrappersOf = (ends: string) =>
    (Object.keys(WRAPPERS) as Wrapper[]).filter((name) => isTested(name, ends, isFull))

  test.each(ENDINGS)(
    'the end of a program that ends by $ends is reported, regardless of the command that started the program',
    { timeout: 300_000 },
    async ({ ends, expected }) => {
      const { runtime, until } = await openDriver()
      const wrappers = wrappersOf(ends)
      const nameOf = (wrapper: Wrapper) => `processor-${Object.keys(WRAPPERS).indexOf(wrapper)}`
      await runtime.apply(
        workload(
          wrappers.map((wrapper) => program(nameOf(wrapper), WRAPPERS[wrapper], ends)),
          { image },
        ),
      )
      for (const wrapper of wrappers)
        await until(nameOf(wrapper), expected).catch((error: unknown) => {
          throw new Error(`${wrapper}: ${String(error)}`)
        })
    },
  )

  test(
    'a program that ran out of memory is started again, although its shell ended with 0',
    { timeout: 300_000 },
    async () => {
      const { runtime, until, observe } = await openDriver()
      await runtime.apply(workload([program('processor', SHELL_HIDING_ENDING.command, 'out of memory')], { image }))
      await until('processor', SHELL_HIDING_ENDING.expected)
      const ordinal = (await observe('processor'))?.lastRun?.ordinal ?? NaN
      await until('processor', {
        ...SHELL_HIDING_ENDING.expected,
        lastRun: { ...SHELL_HIDING_ENDING.expected.lastRun, ordinal: ordinal + 1 },
      })
    },
  )

  test('a program continues after an out-of-memory kill of its child; the kill does not change how the end of the program is reported', async () => {
    const { runtime, until } = await openDriver()
    // The kernel kills the child first. The program ends with 0 five seconds after the kill.
    const command = [
      'sh',
      '-c',
      "ENDS='child out of memory' node main.cjs & sleep 1; until kill -0 $! && grep -q 'oom_kill [1-9]' /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null; do sleep 1; done; sleep 5; kill $!; exit 0",
    ]
    await runtime.apply(
      workload(
        [
          program(
            'processor',
            command.map((word) => word.replaceAll('$', () => '$$')),
            '',
          ),
        ],
        { image },
      ),
    )
    await until('processor', { state: 'finished', lastRun: { exitCode: 0, how: 'done', oomKills: 1 }, reason: null })
  })
})
