import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ContainerSpec, LogCursor } from '../driver.ts'
import { type Kind, describeKinds } from './host-harness.ts'
import { type ProcessHarness, containerPids, makeImage, openProcessHarness } from './process-harness.ts'

const kinds: Partial<Kind>[] = (['auto', 'none'] as const).flatMap((sandbox) =>
  (['auto', 'none'] as const).map((limits) => ({ sandbox, limits })),
)

/** Like `npx` and `sqd`: a launcher that goes at once, and children of children that stay, in sessions of their own. */
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

/** Like the SDK's API: closes on SIGTERM and says so. */
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
  })

  afterEach(() => host.dispose())

  const apply = (image: string, env: Record<string, string> = {}) => {
    const api: ContainerSpec = {
      name: 'api',
      command: ['node', 'main.cjs'],
      env,
      resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
      restart: 'on-failure',
      ports: [],
      stopGraceMs: 200,
    }
    return host.runtime.apply({ id: 'one', tenant: 'org', version: 'one', image, containers: [api] })
  }

  const lastLine = async () => (await host.runtime.tail('one', 'api', 1))[0]
  const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 10_000, interval: 10 })

  test('stopping ends the whole tree, those too that do not want to', async () => {
    await apply('launcher')
    await until(async () => expect(await lastLine()).toBe('deep'))
    expect(containerPids(host.host)).toHaveLength(3)
    await host.runtime.remove('one')
    expect(containerPids(host.host)).toEqual([])
    expect(await host.traces()).toEqual([])
  })

  test('a container ends with its main program: what that left behind is ended too', async () => {
    await apply('launcher', { MODE: 'launcher ends' })
    await until(async () =>
      expect(await host.runtime.observe()).toMatchObject([{ state: 'finished', lastRun: { exitCode: 0 } }]),
    )
    expect(containerPids(host.host)).toEqual([])
  })

  test('a program is asked to end before it is made to, and its last words are kept', async () => {
    await apply('polite')
    await until(async () => expect(await lastLine()).toBe('hello'))
    await host.runtime.remove('one')
    const texts: string[] = []
    const cursor: LogCursor = {}
    const stop = new AbortController()
    for await (const batch of host.runtime.logs(cursor, stop.signal)) {
      texts.push(...batch.lines.map((line) => line.text))
      if (texts.length >= 2) stop.abort()
    }
    expect(texts).toEqual(['hello', 'bye'])
  })
})
