import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ContainerSpec, LogCursor, Workload } from '../driver.ts'
import { bothOrNone, describeKinds } from './host-harness.ts'
import { type ProcessHarness, containerPids, makeImage, openProcessHarness } from './process-harness.ts'
import { signal } from './processes.ts'

/** Counts as fast as it is read; \`ends\` ends it. */
const COUNTER = `
let n = 0
setInterval(() => console.log(n++), 2)
if (process.env.ENDS_AFTER_MS) setTimeout(() => process.exit(9), Number(process.env.ENDS_AFTER_MS))
`

/** A server that applies what it is told and prints each batch of the log; it is killed while it does. */
const SERVER = `
const { createProcessRuntime } = await import(${JSON.stringify(new URL('./process-driver.ts', import.meta.url).href)})
const { options, workload } = JSON.parse(process.env.TOLD)
const runtime = createProcessRuntime(options)
await runtime.start()
await runtime.apply(workload)
for await (const batch of runtime.logs({}, new AbortController().signal)) {
  console.log(JSON.stringify({ lines: batch.lines.map((line) => line.text), cursor: batch.cursor }))
}
`

describeKinds(bothOrNone, (kind) => {
  let host: ProcessHarness

  beforeEach(async () => {
    host = await openProcessHarness(kind)
    makeImage(host.options.imagesDir, 'counter', COUNTER)
  })

  afterEach(() => host.dispose())

  const container = (name: string, env: Record<string, string>): ContainerSpec => ({
    name,
    command: ['node', 'main.cjs'],
    env,
    resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
    restart: 'on-failure',
    ports: [],
    stopGraceMs: 5000,
  })

  /** Runs a server until \`enough\` lines came, and kills it. */
  const serveAndKill = async (containers: ContainerSpec[], enough: number) => {
    await host.runtime.close('keep')
    const workload: Workload = { id: 'one', tenant: 'org', version: 'one', image: 'counter', containers }
    const { clock: _, ...options } = host.options
    const server = spawn(process.execPath, ['--input-type=module', '-e', SERVER], {
      env: { PATH: process.env['PATH'], TMPDIR: tmpdir(), TOLD: JSON.stringify({ options, workload }) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines: string[] = []
    const cursor: LogCursor = {}
    for await (const text of createInterface({ input: server.stdout })) {
      const batch = JSON.parse(text)
      lines.push(...batch.lines)
      Object.assign(cursor, batch.cursor)
      if (lines.length >= enough) server.kill('SIGKILL')
    }
    if (server.signalCode === null) await once(server, 'exit')
    return { lines, cursor }
  }

  test('what runs when the server is killed goes on with the same pids, and no line is lost', async () => {
    const { lines, cursor } = await serveAndKill([container('processor', {})], 50)
    const pids = containerPids(host.host)
    expect(pids).not.toEqual([])
    await host.revive()
    expect(await host.runtime.observe()).toMatchObject([
      { container: 'processor', state: 'running', run: { ordinal: 0 } },
    ])
    const stop = new AbortController()
    for await (const batch of host.runtime.logs(cursor, stop.signal)) {
      lines.push(...batch.lines.map((line) => line.text))
      if (lines.length > 500) stop.abort()
    }
    expect(lines).toEqual(lines.map((_, index) => String(index)))
    expect(containerPids(host.host)).toEqual(pids)
  })

  test('an end that no server saw is known afterwards', async () => {
    await serveAndKill([container('processor', { ENDS_AFTER_MS: '700' })], 1)
    await vi.waitFor(() => expect(containerPids(host.host)).toEqual([]), { timeout: 10_000 })
    // The shim ends what the program left before it writes down how that ended.
    const exit = join(host.options.stateDir, 'containers/one/processor/runs/1/exit')
    await vi.waitFor(() => expect(existsSync(exit)).toBe(true), { timeout: 10_000 })
    await host.revive()
    expect(await host.runtime.observe()).toMatchObject([
      { state: 'backoff', lastRun: { exitCode: 9, how: 'error', ordinal: 0 } },
    ])
  })

  test('a wish that was recorded and not done yet is done by the next server', async () => {
    await serveAndKill([container('processor', {})], 1)
    const file = join(host.options.stateDir, 'containers/one/workload.json')
    const desired: Workload = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...desired, containers: [container('other', {})] }))
    await host.revive()
    await vi.waitFor(
      async () => expect(await host.runtime.observe()).toMatchObject([{ container: 'other', state: 'running' }]),
      { timeout: 10_000 },
    )
    expect(existsSync(join(host.options.stateDir, 'containers/one/processor'))).toBe(false)
  })

  test('a container whose shim was killed is ended and started again', async () => {
    await serveAndKill([container('processor', {})], 1)
    await host.revive()
    const [shim] = readFileSync(join(host.options.stateDir, 'containers/one/processor/runs/1/pids'), 'utf8').split(' ')
    signal(Number(shim), 'SIGKILL')
    await vi.waitFor(
      async () =>
        expect(await host.runtime.observe()).toMatchObject([
          { state: 'backoff', lastRun: { exitCode: null, how: 'error' }, reason: 'It was ended from outside' },
        ]),
      { timeout: 10_000 },
    )
    expect(containerPids(host.host)).toEqual([])
  })

  /** The record of `processor` as the release before runs wrote it. */
  const writeOldRecord = (changes: object) => {
    const file = join(host.options.stateDir, 'containers/one/processor/record.json')
    const { begun, current, lastRun, used, countedBefore, stopGraceMs, ...kept } = JSON.parse(
      readFileSync(file, 'utf8'),
    )
    expect([begun, current, lastRun, used, countedBefore, stopGraceMs]).not.toContain(undefined)
    const counters = { restarts: 4, oomKills: 2, exitCode: 9, outOfMemory: false, oomKillsBefore: 0 }
    const spent = { cpuSeconds: 1, throttledSeconds: 0 }
    writeFileSync(file, JSON.stringify({ ...kept, ...counters, spent, ...changes }))
    const desired = join(host.options.stateDir, 'containers/one/workload.json')
    const { containers, ...workload }: Workload = JSON.parse(readFileSync(desired, 'utf8'))
    const withoutGrace = containers.map((spec) => ({ ...spec, stopGraceMs: undefined }))
    writeFileSync(desired, JSON.stringify({ ...workload, containers: withoutGrace }))
  }

  test('what an earlier release recorded as running goes on, as a run that keeps its id', async () => {
    await serveAndKill([container('processor', {})], 1)
    const pids = containerPids(host.host)
    writeOldRecord({ isRunOpen: true, run: 1 })
    await host.revive()
    const adopted = await host.runtime.observe()
    expect(adopted).toMatchObject([
      { state: 'running', run: { ordinal: 0, node: null }, lastRun: { exitCode: 9, how: 'error', oomKills: null } },
    ])
    expect(await host.runtime.usage()).toMatchObject([{ run: adopted[0]?.run?.id }])
    await host.kill()
    await host.revive()
    expect(await host.runtime.observe()).toEqual(adopted)
    expect(containerPids(host.host)).toEqual(pids)
    // It has no grace recorded, and still ends.
    await host.runtime.remove('one')
    expect(containerPids(host.host)).toEqual([])
  })

  test('what an earlier release recorded as waiting for its next try starts again, counted on', async () => {
    await serveAndKill([container('processor', { ENDS_AFTER_MS: '100' })], 1)
    await vi.waitFor(() => expect(containerPids(host.host)).toEqual([]), { timeout: 10_000 })
    writeOldRecord({
      isRunOpen: false,
      run: 5,
      state: 'backoff',
      retryAt: new Date(0).toISOString(),
      outOfMemory: true,
    })
    await host.revive()
    await vi.waitFor(
      async () =>
        expect(await host.runtime.observe()).toMatchObject([{ lastRun: { ordinal: 5, exitCode: 9, how: 'error' } }]),
      { timeout: 10_000 },
    )
  })

  test('a record that the power took is no reason to run twice or not at all', async () => {
    await serveAndKill([container('processor', {})], 1)
    const before = containerPids(host.host)
    writeFileSync(join(host.options.stateDir, 'containers/one/processor/record.json'), '')
    await host.revive()
    await vi.waitFor(async () => expect(await host.runtime.observe()).toMatchObject([{ state: 'running' }]), {
      timeout: 10_000,
    })
    await vi.waitFor(() => expect(containerPids(host.host)).toHaveLength(1), { timeout: 10_000 })
    expect(containerPids(host.host)).not.toEqual(before)
  })
})
