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
  let host: ProcessHarness
  beforeEach(async () => {
    host = await openProcessHarness(kind)
  })
  afterEach(() => host.dispose())

  const desired = () => ({
    id: 'one',
    tenant: 'org',
    version: 'one',
    image: host.image,
    containers: [
      {
        name: 'processor',
        resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
        restart: 'on-failure' as const,
        ports: [],
        stopGraceMs: 5000,
        ...host.program({ print: ['up'] }),
      },
    ],
  })
  const untilRunning = (count: number) => until(async () => expect(programs()).toHaveLength(count))
  /** Returns the pids of the program itself, without those of the sandbox. */
  const programs = () => containerPids(host.host).filter((pid) => commandLine(pid).includes('main.cjs'))

  test('kills programs of its state directory that have no record', async () => {
    await host.runtime.apply(desired())
    await untilRunning(1)
    await host.kill()
    rmSync(join(host.options.stateDir, 'containers/one'), { recursive: true })
    await host.restart()
    await untilRunning(0)
    expect(await host.runtime.observe()).toEqual([])
    expect(await host.leftovers()).toEqual([])
  })

  test('kills a second copy of a program, started by another worker', async () => {
    const other = createProcessRuntime(host.options)
    await other.start()
    await host.runtime.apply(desired())
    await untilRunning(1)
    await other.apply(desired())
    await untilRunning(2)
    await host.kill()
    await other.close('keep')
    await host.restart()
    // If both share a cgroup, the recorded one is killed with the copy, and then restarted.
    await until(async () => {
      host.advance(2_000)
      expect(await host.runtime.observe()).toMatchObject([{ container: 'processor', state: 'running' }])
      expect(programs()).toHaveLength(1)
    })
  })

  /** Expects that a restarted server keeps the program that runs this command. */
  const expectKept = async (command: string[]) => {
    const [container] = desired().containers
    await host.runtime.apply({ ...desired(), containers: container ? [{ ...container, command }] : [] })
    await untilRunning(1)
    const before = programs()
    await host.kill()
    await host.restart()
    expect(programs()).toEqual(before)
  }

  test.runIf(kind.sandbox === 'auto')('keeps a program with arguments like those of a shim', async () => {
    const command = ['node', 'main.cjs', join(host.host.stateDir, 'containers/two/processor/run')]
    await expectKept(command)
  })

  test('keeps programs and limits although a program claims a name that is a path', async () => {
    const command = ['/bin/sh', '-c', `SHOAL_BOX=${host.host.label}/c-x/.. exec node main.cjs`]
    await expectKept(command)
  })

  test('rejects `observe` until it has started', async () => {
    await expect(host.unstarted().runtime.observe()).rejects.toThrow('was not started')
  })
})
