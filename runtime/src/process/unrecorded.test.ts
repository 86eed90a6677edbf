import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ProcessHarness, containerPids, openProcessHarness } from './process-harness.ts'
import { commandLine } from './processes.ts'
import { createProcessRuntime } from './process-driver.ts'
import { until } from '../until.ts'

describe.each([
  { sandbox: 'auto', limits: 'auto' },
  { sandbox: 'none', limits: 'none' },
] as const)('a starting worker, with sandbox $sandbox and limits $limits,', (kind) => {
  let harness: ProcessHarness
  beforeEach(async () => {
    harness = await openProcessHarness(kind)
  })
  afterEach(() => harness.dispose())

  const desired = () => ({
    id: 'one',
    tenant: 'org',
    version: 'one',
    image: harness.image,
    containers: [
      {
        name: 'processor',
        resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
        restart: 'on-failure' as const,
        ports: [],
        stopGraceMs: 5000,
        ...harness.program({ print: ['up'] }),
      },
    ],
  })
  const untilRunning = (count: number) => until(async () => expect(programs()).toHaveLength(count))
  /** Returns the pids of the program itself, without those of the sandbox. */
  const programs = () => containerPids(harness.host).filter((pid) => commandLine(pid).includes('main.cjs'))

  test('kills programs of its state directory that have no record', async () => {
    await harness.runtime.apply(desired())
    await untilRunning(1)
    await harness.kill()
    rmSync(join(harness.options.stateDir, 'containers/one'), { recursive: true })
    await harness.restart()
    await untilRunning(0)
    expect(await harness.runtime.observe()).toEqual([])
    expect(await harness.leftovers()).toEqual([])
  })

  test('kills a duplicate of a program that another worker started', async () => {
    const other = createProcessRuntime(harness.options)
    await other.start()
    // Both workers may choose the same number for a network; the one that cannot create it starts the program again after a second.
    const untilStarted = (count: number) =>
      until(() => {
        harness.advance(1_000)
        expect(programs()).toHaveLength(count)
      })
    await harness.runtime.apply(desired())
    await untilStarted(1)
    await other.apply(desired())
    await untilStarted(2)
    await harness.kill()
    await other.close('keep')
    await harness.restart()
    // If both share a cgroup, the recorded program is killed with the duplicate, and then restarted.
    await until(async () => {
      harness.advance(2_000)
      expect(await harness.runtime.observe()).toMatchObject([{ container: 'processor', state: 'running' }])
      expect(programs()).toHaveLength(1)
    })
  })

  /** Expects that a restarted worker keeps the program that runs this command. */
  const expectKept = async (command: string[]) => {
    const [container] = desired().containers
    await harness.runtime.apply({ ...desired(), containers: container ? [{ ...container, command }] : [] })
    await untilRunning(1)
    const before = programs()
    await harness.kill()
    await harness.restart()
    expect(programs()).toEqual(before)
  }

  test.runIf(kind.sandbox === 'auto')(
    'keeps a sandboxed program whose arguments name a file of the state directory, like those of a shim',
    async () => {
      const command = ['node', 'main.cjs', join(harness.host.stateDir, 'containers/two/processor/run')]
      await expectKept(command)
    },
  )

  test('keeps a program that sets its mark SHOAL_BOX to a path', async () => {
    const command = ['/bin/sh', '-c', `SHOAL_BOX=${harness.host.label}/c-x/.. exec node main.cjs`]
    await expectKept(command)
  })

  test('rejects `observe` until it has started', async () => {
    await expect(harness.unstarted().runtime.observe()).rejects.toThrow('was not started')
  })
})
