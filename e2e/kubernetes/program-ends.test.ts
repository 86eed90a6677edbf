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

  const program = (name: string, command: string[], ending: string) =>
    container(name, {
      command,
      env: { ENDING: ending },
      resources: { cpuCores: 1, memoryBytes: 256 * MIB },
      stopGraceMs: 1000,
    })

  const wrappersOf = (ending: string) =>
    (Object.keys(WRAPPERS) as Wrapper[]).filter((name) => isTested(name, ending, isFull))

  test.each(ENDINGS)(
    'the ending "$ending" of a program is reported, regardless of the command that started the program',
    { timeout: 300_000 },
    async ({ ending, expected }) => {
      const { runtime, until } = await openDriver()
      const wrappers = wrappersOf(ending)
      const nameOf = (wrapper: Wrapper) => `processor-${Object.keys(WRAPPERS).indexOf(wrapper)}`
      await runtime.apply(
        workload(
          wrappers.map((wrapper) => program(nameOf(wrapper), WRAPPERS[wrapper], ending)),
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
    'a container whose program ran out of memory is started again, although the shell that started the program exited with 0',
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

  test('an out-of-memory kill of one process does not end the other processes of the program, or change how its end is reported', async () => {
    const { runtime, until } = await openDriver()
    // The program is `sh`. The kernel kills the child of `node`, but not `node` ($!). Five seconds later, `sh` ends `node` and exits with 0.
    const command = [
      'sh',
      '-c',
      "ENDING='child out of memory' node main.cjs & sleep 1; until kill -0 $! && grep -q 'oom_kill [1-9]' /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null; do sleep 1; done; sleep 5; kill $!; exit 0",
    ]
    await runtime.apply(
      workload(
        [
          // Kubernetes replaces $$ in a command with $. So does `replaceAll`, but not in the result of a function.
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
