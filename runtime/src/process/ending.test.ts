import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ContainerSpec, LogCursor } from '../driver.ts'
import { type Kind, describeKinds } from './host-harness.ts'
import { signal } from './processes.ts'
import { type ProcessHarness, containerPids, makeImage, openProcessHarness } from './process-harness.ts'

const kinds: Partial<Kind>[] = (['auto', 'none'] as const).flatMap((sandbox) =>
  (['auto', 'none'] as const).map((limits) => ({ sandbox, limits })),
)

/** Like `npx` and `sqd`: a launcher whose grandchildren run in separate sessions and ignore SIGTERM. */
const LAUNCHER = `
const { spawn } = require('node:child_process')
const depth = Number(process.env.DEPTH ?? 0)
if (depth < 2) {
  spawn(process.execPath, [__filename], { detached: depth === 1, stdio: 'inherit', env: { ...process.env, DEPTH: depth + 1 } })
} else {
  process.on('SIGTERM', () => console.log('I stay'))
  console.log('deep')
}
if (process.env.MODE === 'launcher ends' && depth === 0) setTimeout(() => process.exit(0), 300)
setInterval(() => {}, 60_000)
`

/** Exits on SIGTERM with a delay. */
const SLOW = `
process.on('SIGTERM', () => { console.log('I end'); setTimeout(() => { console.log('bye'); process.exit(0) }, 1500) })
console.log('hello')
setInterval(() => {}, 60_000)
`

/** Like the SDK's API: exits on SIGTERM with a message. */
const POLITE = `
process.on('SIGTERM', () => { console.log('bye'); process.exit(0) })
console.log('hello')
setInterval(() => {}, 60_000)
`

describeKinds(kinds, (kind) => {
  let host: ProcessHarness

  beforeEach(async () => {
    host = await openProcessHarness(kind)
    makeImage(host.options.imagesDir, 'launcher', LAUNCHER)
    makeImage(host.options.imagesDir, 'polite', POLITE)
    makeImage(host.options.imagesDir, 'slow', SLOW)
  })

  afterEach(() => host.dispose())

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
    return host.runtime.apply({ id: 'one', tenant: 'org', version: 'one', image, containers: [api] })
  }

  /** Reads the log from its beginning until it has `enough` lines. */
  const allLines = async (enough: number) => {
    const texts: string[] = []
    const cursor: LogCursor = {}
    const stop = new AbortController()
    for await (const batch of host.runtime.logs(cursor, stop.signal)) {
      texts.push(...batch.lines.map((line) => line.text))
      if (texts.length >= enough) stop.abort()
    }
    return texts
  }

  const lastLine = async () => (await host.runtime.tail('one', 'api', 1))[0]
  const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 10_000, interval: 10 })

  test('stopping ends the whole process tree, including processes that ignore SIGTERM', async () => {
    await apply('launcher')
    await until(async () => expect(await lastLine()).toBe('deep'))
    expect(containerPids(host.host)).toHaveLength(3)
    await host.runtime.remove('one')
    expect(containerPids(host.host)).toEqual([])
    expect(await host.traces()).toEqual([])
  })

  test('a container ends with its main program, and remaining processes are killed', async () => {
    await apply('launcher', { MODE: 'launcher ends' })
    await until(async () =>
      expect(await host.runtime.observe()).toMatchObject([{ state: 'finished', lastRun: { exitCode: 0 } }]),
    )
    expect(containerPids(host.host)).toEqual([])
  })

  test('a program gets SIGTERM before SIGKILL, and its last output is kept', async () => {
    await apply('polite')
    await until(async () => expect(await lastLine()).toBe('hello'))
    await host.runtime.remove('one')
    expect(await allLines(2)).toEqual(['hello', 'bye'])
  })

  test('a program has exactly the grace period of its container to stop', async () => {
    await apply('slow', {}, 10_000)
    await until(async () => expect(await lastLine()).toBe('hello'))
    await host.runtime.close('stop')
    await host.revive()
    await until(async () => expect(await host.runtime.observe()).toMatchObject([{ run: { ordinal: 1 } }]))
    expect(await host.runtime.observe()).toMatchObject([{ lastRun: { how: 'stopped', exitCode: 0 } }])
    // Only the grace period changes, so the program continues.
    await apply('slow', {}, 200)
    await until(async () => expect(await lastLine()).toBe('hello'))
    expect(await host.runtime.observe()).toMatchObject([{ run: { ordinal: 1 } }])
    await host.runtime.remove('one')
    expect(await allLines(5)).toEqual(['hello', 'I end', 'bye', 'hello', 'I end'])
  })

  test.for([
    { graceMs: 10_000, output: ['hello', 'I end', 'bye'] },
    { graceMs: 200, output: ['hello', 'I end'] },
  ])(
    'remaining processes also get $graceMs ms, even while no server is running',
    async ({ graceMs, output }, { skip }) => {
      if (!host.host.cgroups) skip('without cgroups the shim cannot find remaining processes')
      if (host.host.sandbox === 'bwrap') skip('a sandbox ends with its first program')
      await apply('slow', {}, graceMs, ['sh', '-c', 'node main.cjs & wait'])
      await until(async () => expect(await lastLine()).toBe('hello'))
      await host.kill()
      for (const pid of containerPids(host.host)) signal(pid, 'SIGTERM')
      await until(async () => expect(containerPids(host.host)).toEqual([]))
      await host.revive()
      expect(await host.runtime.tail('one', 'api', 10)).toEqual(output)
    },
  )

  test('a later server without the desired state respects the grace period too', async () => {
    await apply('slow', {}, 10_000)
    await until(async () => expect(await lastLine()).toBe('hello'))
    await host.kill()
    rmSync(join(host.options.stateDir, 'containers/one/workload.json'))
    await host.revive()
    await until(async () => expect(await host.runtime.observe()).toEqual([]))
    expect(await allLines(3)).toEqual(['hello', 'I end', 'bye'])
  })
})
