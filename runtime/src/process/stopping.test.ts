import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ContainerSpec, LogCursor } from '../driver.ts'
import { type HostKind, describeKinds } from './host-harness.ts'
import { signal } from './processes.ts'
import { type ProcessHarness, containerPids, makeImage, openProcessHarness } from './process-harness.ts'
import { until } from '../until.ts'

const kinds: Partial<HostKind>[] = (['auto', 'none'] as const).flatMap((sandbox) =>
  (['auto', 'none'] as const).map((limits) => ({ sandbox, limits })),
)

/** A launcher like `npx` and `sqd`, whose grandchildren run in separate sessions and ignore SIGTERM. */
const LAUNCHER = `
const { spawn } = require('node:child_process')
const depth = Number(process.env.DEPTH ?? 0)
if (depth < 2) {
  spawn(process.execPath, [__filename], { detached: depth === 1, stdio: 'inherit', env: { ...process.env, DEPTH: depth + 1 } })
} else {
  process.on('SIGTERM', () => console.log('ignoring SIGTERM'))
  console.log('deep')
}
if (process.env.MODE === 'launcher ends' && depth === 0) setTimeout(() => process.exit(0), 300)
setInterval(() => {}, 60_000)
`

/** Exits on SIGTERM with a delay, which in its second run is longer than the grace periods. */
const EXITS_SLOWLY = `
const { existsSync, writeFileSync } = require('node:fs')
const delayMs = existsSync('has-run') ? 60_000 : Number(process.env.DELAY_MS ?? 500)
writeFileSync('has-run', '')
process.on('SIGTERM', () => { console.log('stopping'); setTimeout(() => { console.log('bye'); process.exit(0) }, delayMs) })
console.log('hello')
setInterval(() => {}, 60_000)
`

/** A grace period that is long enough for a busy machine to deliver SIGTERM. */
const graceMs = 2_000

/** Exits on SIGTERM with a message, like the SDK's API. */
const EXITS_ON_SIGTERM = `
process.on('SIGTERM', () => { console.log('bye'); process.exit(0) })
console.log('hello')
setInterval(() => {}, 60_000)
`

describeKinds(kinds, (kind) => {
  let harness: ProcessHarness

  beforeEach(async () => {
    harness = await openProcessHarness(kind)
    makeImage(harness.options.imagesDir, 'launcher', LAUNCHER)
    makeImage(harness.options.imagesDir, 'graceful', EXITS_ON_SIGTERM)
    makeImage(harness.options.imagesDir, 'slow', EXITS_SLOWLY)
  })

  afterEach(() => harness.dispose())

  const apply = (
    image: string,
    env: Record<string, string> = {},
    stopGraceMs = 200,
    command = ['node', 'main.cjs'],
  ) => {
    const api: ContainerSpec = {
      name: 'api',
      command,
      env,
      resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
      restart: 'on-failure',
      ports: [],
      stopGraceMs,
    }
    return harness.runtime.apply({ id: 'one', tenant: 'org', version: 'one', image, containers: [api] })
  }

  /** Reads the log from its beginning until at least `count` lines have arrived. */
  const readLines = async (count: number) => {
    const texts: string[] = []
    const cursor: LogCursor = {}
    const controller = new AbortController()
    for await (const batch of harness.runtime.logs(cursor, controller.signal)) {
      texts.push(...batch.lines.map((line) => line.text))
      if (texts.length >= count) controller.abort()
    }
    return texts
  }

  const lastLine = async () => (await harness.runtime.tail('one', 'api', 1))[0]

  test('stopping ends the whole process tree, including processes that ignore SIGTERM', async () => {
    await apply('launcher')
    await until(async () => expect(await lastLine()).toBe('deep'))
    expect(containerPids(harness.host)).toHaveLength(3)
    await harness.runtime.remove('one')
    expect(containerPids(harness.host)).toEqual([])
    expect(await harness.leftovers()).toEqual([])
  })

  test('a container ends with its main program, and remaining processes are killed', async () => {
    await apply('launcher', { MODE: 'launcher ends' })
    await until(async () =>
      expect(await harness.runtime.observe()).toMatchObject([{ state: 'finished', lastRun: { exitCode: 0 } }]),
    )
    expect(containerPids(harness.host)).toEqual([])
  })

  test('a program receives SIGTERM before SIGKILL, and its last output is kept', async () => {
    // The program ends immediately, but a busy machine may need time for it.
    await apply('graceful', {}, 60_000)
    await until(async () => expect(await lastLine()).toBe('hello'))
    await harness.runtime.remove('one')
    expect(await readLines(2)).toEqual(['hello', 'bye'])
  })

  test('a program is killed at the end of its grace period, and not earlier', async () => {
    await apply('slow', {}, 30_000)
    await until(async () => expect(await lastLine()).toBe('hello'))
    await harness.runtime.close('stop')
    await harness.restart()
    await until(async () => expect(await harness.runtime.observe()).toMatchObject([{ run: { ordinal: 1 } }]))
    expect(await harness.runtime.observe()).toMatchObject([{ lastRun: { how: 'stopped', exitCode: 0 } }])
    // Changing only the grace period does not restart the program.
    await apply('slow', {}, graceMs)
    await until(async () => expect(await lastLine()).toBe('hello'))
    expect(await harness.runtime.observe()).toMatchObject([{ run: { ordinal: 1 } }])
    await harness.runtime.remove('one')
    expect(await readLines(5)).toEqual(['hello', 'stopping', 'bye', 'hello', 'stopping'])
  })

  test.for([
    { graceMs: 30_000, delayMs: 500, output: ['hello', 'stopping', 'bye'] },
    { graceMs, delayMs: 60_000, output: ['hello', 'stopping'] },
  ])(
    'remaining processes also have a grace period of $graceMs ms, even while no server is running',
    async ({ graceMs, delayMs, output }, { skip }) => {
      if (!harness.host.cgroups) skip('without cgroups the shim cannot find remaining processes')
      if (harness.host.sandbox === 'bwrap') skip('a sandbox ends with its first program')
      await apply('slow', { DELAY_MS: `${delayMs}` }, graceMs, ['sh', '-c', 'node main.cjs & wait'])
      await until(async () => expect(await lastLine()).toBe('hello'))
      await harness.kill()
      for (const pid of containerPids(harness.host)) signal(pid, 'SIGTERM')
      await until(async () => expect(containerPids(harness.host)).toEqual([]))
      await harness.restart()
      expect(await harness.runtime.tail('one', 'api', 10)).toEqual(output)
    },
  )

  test('a server that finds no desired state still respects the recorded grace period', async () => {
    await apply('slow', {}, 30_000)
    await until(async () => expect(await lastLine()).toBe('hello'))
    await harness.kill()
    rmSync(join(harness.options.stateDir, 'containers/one/workload.json'))
    await harness.restart()
    await until(async () => expect(await harness.runtime.observe()).toEqual([]))
    expect(await readLines(3)).toEqual(['hello', 'stopping', 'bye'])
  })
})
