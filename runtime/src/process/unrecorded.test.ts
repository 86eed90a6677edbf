import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type ProcessHarness, containerPids, openProcessHarness } from './process-harness.ts'
import { commandLine } from './processes.ts'
import { createProcessRuntime } from './process-driver.ts'

describe.each([
  { sandbox: 'auto', limits: 'auto' },
  { sandbox: 'none', limits: 'none' },
] as const)('a worker that starts, with sandbox $sandbox and limits $limits', (kind) => {
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
  const runs = (count: number) =>
    vi.waitFor(async () => expect(programs()).toHaveLength(count), { timeout: 10_000, interval: 20 })
  /** The pids of the program itself, without those of the sandbox. */
  const programs = () => containerPids(host.host).filter((pid) => commandLine(pid).includes('main.cjs'))

  test('kills programs with its mark that have no record', async () => {
    await host.runtime.apply(desired())
    await runs(1)
    await host.kill()
    rmSync(join(host.options.stateDir, 'containers/one'), { recursive: true })
    await host.revive()
    await runs(0)
    expect(await host.runtime.observe()).toEqual([])
    expect(await host.traces()).toEqual([])
  })

  test('kills the second copy of a program that another worker has started', async () => {
    const other = createProcessRuntime(host.options)
    await other.start()
    await host.runtime.apply(desired())
    await runs(1)
    await other.apply(desired())
    await runs(2)
    await host.kill()
    await other.close('keep')
    await host.revive()
    // If both share a cgroup, the recorded one is killed with the copy, and then restarted.
    await vi.waitFor(
      async () => {
        host.advance(2_000)
        expect(await host.runtime.observe()).toMatchObject([{ container: 'processor', state: 'running' }])
        expect(programs()).toHaveLength(1)
      },
      { timeout: 10_000, interval: 100 },
    )
  })

  test('rejects observations before its start', async () => {
    await expect(host.unstarted().runtime.observe()).rejects.toThrow('was not started')
  })
})
