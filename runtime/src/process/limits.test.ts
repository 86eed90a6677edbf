import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ContainerSpec, Resources } from '../driver.ts'
import { describeKinds } from './host-harness.ts'
import { type ProcessHarness, makeImage, openProcessHarness } from './process-harness.ts'
import { until } from '../until.ts'

const MIB = 1024 * 1024

const PROGRAM = `
const { MODE } = process.env
if (MODE === 'busy') for (;;);
if (MODE === 'fills its heap') for (const all = []; ; ) all.push({ text: String(Math.random()) })
if (MODE === 'forks') {
  const { spawn } = require('node:child_process')
  let hasFailed = false
  const spawnNext = () => spawn('sleep', ['60']).on('spawn', spawnNext).on('error', (error) => {
    if (!hasFailed) console.log(error.code)
    hasFailed = true
  })
  spawnNext()
}
setInterval(() => {}, 60_000)
`

const kinds = [
  { sandbox: 'auto', limits: 'auto' },
  { sandbox: 'none', limits: 'auto' },
] as const

describeKinds(kinds, (kind) => {
  let harness: ProcessHarness

  beforeEach(async () => {
    harness = await openProcessHarness(kind)
    makeImage(harness.options.imagesDir, 'program', PROGRAM)
  })

  afterEach(() => harness.dispose())

  const apply = (mode: string, resources: Partial<Resources> = {}) => {
    const processor: ContainerSpec = {
      name: 'processor',
      command: ['node', 'main.cjs'],
      env: { MODE: mode },
      resources: { cpuCores: 1, memoryBytes: 256 * MIB, ...resources },
      restart: 'on-failure',
      ports: [],
      stopGraceMs: 5000,
    }
    return harness.runtime.apply({
      id: 'one',
      tenant: 'org',
      version: 'one',
      image: 'program',
      containers: [processor],
    })
  }

  const usage = async () => (await harness.runtime.usage())[0]

  test('CPU beyond the limit is throttled and reported', async () => {
    await apply('busy', { cpuCores: 0.1 })
    await until(async () => expect((await usage())?.cpuSeconds).toBeGreaterThan(1))
    // The program has a whole core during start-up, then the limit of its profile.
    const { throttledSeconds: whileStarting = 0 } = (await usage()) ?? {}
    expect(whileStarting).toBeLessThan(0.5)
    harness.advance(10_000)
    await until(async () => expect((await usage())?.throttledSeconds).toBeGreaterThan(0.5))
    const { cpuSeconds = 0, throttledSeconds = 0, cpuLimitCores } = (await usage()) ?? {}
    expect(cpuLimitCores).toBe(0.1)
    // A program with a tenth of a core waits about nine times as long as it runs, even when other programs use most of the CPU.
    await until(async () => expect((await usage())?.throttledSeconds).toBeGreaterThan((throttledSeconds ?? 0) + 1))
    const laterUsage = await usage()
    const increase = (now: number | null | undefined, before: number | null) => (now ?? 0) - (before ?? 0)
    expect(increase(laterUsage?.throttledSeconds, throttledSeconds)).toBeGreaterThan(
      increase(laterUsage?.cpuSeconds, cpuSeconds),
    )
  })

  test('a full heap counts as out of memory, and the log contains Node’s error', async () => {
    await apply('fills its heap', { memoryBytes: 96 * MIB })
    await until(async () =>
      expect(await harness.runtime.observe()).toMatchObject([
        { state: 'backoff', lastRun: { how: 'oom', oomKills: 1 } },
      ]),
    )
    const lines = await harness.runtime.tail('one', 'processor', 100)
    expect(lines.join('\n')).toContain('JavaScript heap out of memory')
  })

  test('the number of processes is limited', async () => {
    await apply('forks')
    await until(async () => expect(await harness.runtime.tail('one', 'processor', 1)).toEqual(['EAGAIN']))
    await harness.runtime.remove('one')
    expect(await harness.leftovers()).toEqual([])
  })

  test('the usage of a run is still reported after the server restarts and after the run ends', async () => {
    await apply('idle')
    await until(async () => expect((await usage())?.cpuSeconds).toBeGreaterThan(0))
    const { run, cpuSeconds } = (await usage()) ?? {}
    await harness.kill()
    await harness.restart()
    expect(await usage()).toMatchObject({ run })
    expect((await usage())?.cpuSeconds).toBeGreaterThanOrEqual(cpuSeconds ?? Infinity)
    await harness.runtime.close('stop')
    expect(await usage()).toMatchObject({ run, memoryBytes: 0 })
    expect((await usage())?.cpuSeconds).toBeGreaterThanOrEqual(cpuSeconds ?? Infinity)
    await harness.restart()
    await until(async () => expect(await harness.runtime.observe()).toMatchObject([{ state: 'running' }]))
    expect((await usage())?.run).not.toBe(run)
  })
})
