import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ContainerSpec, LogCursor, Workload } from '../driver.ts'
import { standardKinds, describeKinds } from './host-harness.ts'
import { type ProcessHarness, containerPids, makeImage, openProcessHarness } from './process-harness.ts'
import { signal } from './processes.ts'
import { until } from '../until.ts'

/** A program that prints a counter, and exits after `ENDS_AFTER_MS`, if set. */
const COUNTER = `
let n = 0
setInterval(() => console.log(n++), 2)
if (process.env.ENDS_AFTER_MS) setTimeout(() => process.exit(9), Number(process.env.ENDS_AFTER_MS))
`

/** The source of a server that applies a workload and prints each batch of its log. */
const SERVER = `
const { createProcessRuntime } = await import(${JSON.stringify(new URL('./process-driver.ts', import.meta.url).href)})
const { options, workload } = JSON.parse(process.env.OPTIONS)
const runtime = createProcessRuntime(options)
await runtime.start()
await runtime.apply(workload)
for await (const batch of runtime.logs({}, new AbortController().signal)) {
  console.log(JSON.stringify({ lines: batch.lines.map((line) => line.text), cursor: batch.cursor }))
}
`

describeKinds(standardKinds, (kind) => {
  let harness: ProcessHarness

  beforeEach(async () => {
    harness = await openProcessHarness(kind)
    makeImage(harness.options.imagesDir, 'counter', COUNTER)
  })

  afterEach(() => harness.dispose())

  const container = (name: string, env: Record<string, string>): ContainerSpec => ({
    name,
    command: ['node', 'main.cjs'],
    env,
    resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
    restart: 'on-failure',
    ports: [],
    stopGraceMs: 5000,
  })

  /** Runs a server until it has printed at least `count` lines, and kills it. */
  const serveAndKill = async (containers: ContainerSpec[], count: number) => {
    await harness.runtime.close('keep')
    const workload: Workload = { id: 'one', tenant: 'org', version: 'one', image: 'counter', containers }
    const { clock: _, ...options } = harness.options
    const server = spawn(process.execPath, ['--input-type=module', '-e', SERVER], {
      env: { PATH: process.env['PATH'], TMPDIR: tmpdir(), OPTIONS: JSON.stringify({ options, workload }) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines: string[] = []
    const cursor: LogCursor = {}
    for await (const text of createInterface({ input: server.stdout })) {
      const batch = JSON.parse(text)
      lines.push(...batch.lines)
      Object.assign(cursor, batch.cursor)
      if (lines.length >= count) server.kill('SIGKILL')
    }
    if (server.signalCode === null) await once(server, 'exit')
    return { lines, cursor }
  }

  test('programs survive a killed server with the same pids, and no log line is lost', async () => {
    const { lines, cursor } = await serveAndKill([container('processor', {})], 50)
    const pids = containerPids(harness.host)
    expect(pids).not.toEqual([])
    await harness.restart()
    expect(await harness.runtime.observe()).toMatchObject([
      { container: 'processor', state: 'running', run: { ordinal: 0 } },
    ])
    const controller = new AbortController()
    for await (const batch of harness.runtime.logs(cursor, controller.signal)) {
      lines.push(...batch.lines.map((line) => line.text))
      if (lines.length > 500) controller.abort()
    }
    expect(lines).toEqual(lines.map((_, index) => String(index)))
    expect(containerPids(harness.host)).toEqual(pids)
  })

  test('the exit of a program is recorded while no server is running', async () => {
    await serveAndKill([container('processor', { ENDS_AFTER_MS: '700' })], 1)
    await until(() => expect(containerPids(harness.host)).toEqual([]))
    // The shim kills leftover processes before it records the exit.
    const exit = join(harness.options.stateDir, 'containers/one/processor/runs/1/exit')
    await until(() => expect(existsSync(exit)).toBe(true))
    await harness.restart()
    expect(await harness.runtime.observe()).toMatchObject([
      { state: 'backoff', lastRun: { exitCode: 9, how: 'error', ordinal: 0 } },
    ])
  })

  test('the next server applies a desired state that was recorded but not applied', async () => {
    await serveAndKill([container('processor', {})], 1)
    const file = join(harness.options.stateDir, 'containers/one/workload.json')
    const desired: Workload = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...desired, containers: [container('other', {})] }))
    await harness.restart()
    await until(async () =>
      expect(await harness.runtime.observe()).toMatchObject([{ container: 'other', state: 'running' }]),
    )
    expect(existsSync(join(harness.options.stateDir, 'containers/one/processor'))).toBe(false)
  })

  test('a container whose shim was killed is ended, and waits for its restart', async () => {
    await serveAndKill([container('processor', {})], 1)
    await harness.restart()
    const pidsFile = join(harness.options.stateDir, 'containers/one/processor/runs/1/pids')
    const [shim] = readFileSync(pidsFile, 'utf8').split(' ')
    signal(Number(shim), 'SIGKILL')
    await until(async () =>
      expect(await harness.runtime.observe()).toMatchObject([
        { state: 'backoff', lastRun: { exitCode: null, how: 'error' }, reason: 'It ended for an unknown reason' },
      ]),
    )
    expect(containerPids(harness.host)).toEqual([])
  })

  /** Writes the record of `processor` in the format of earlier releases, which recorded only the number of starts (`run`) and counters. */
  const writeEarlierRecord = (changes: object) => {
    const file = join(harness.options.stateDir, 'containers/one/processor/record.json')
    const { begun, current, lastRun, used, countedBefore, stopGraceMs, ...otherFields } = JSON.parse(
      readFileSync(file, 'utf8'),
    )
    expect([begun, current, lastRun, used, countedBefore, stopGraceMs]).not.toContain(undefined)
    const counters = { restarts: 4, oomKills: 2, exitCode: 9, outOfMemory: false, oomKillsBefore: 0 }
    const spent = { cpuSeconds: 1, throttledSeconds: 0 }
    writeFileSync(file, JSON.stringify({ ...otherFields, ...counters, spent, ...changes }))
    const desired = join(harness.options.stateDir, 'containers/one/workload.json')
    const { containers, sealedEnvironments, ...workload }: Workload & { sealedEnvironments: string } = JSON.parse(
      readFileSync(desired, 'utf8'),
    )
    const environments: Record<string, Record<string, string>> = JSON.parse(sealedEnvironments)
    const plainContainers = containers.map((spec) => ({
      ...spec,
      env: environments[spec.name],
      stopGraceMs: undefined,
    }))
    writeFileSync(desired, JSON.stringify({ ...workload, containers: plainContainers }))
  }

  test('a running container recorded by an earlier release continues, with a stable run id', async () => {
    await serveAndKill([container('processor', {})], 1)
    const pids = containerPids(harness.host)
    writeEarlierRecord({ isRunOpen: true, run: 1 })
    await harness.restart()
    const adopted = await harness.runtime.observe()
    expect(adopted).toMatchObject([
      { state: 'running', run: { ordinal: 0, node: null }, lastRun: { exitCode: 9, how: 'error', oomKills: null } },
    ])
    expect(await harness.runtime.usage()).toMatchObject([{ run: adopted[0]?.run?.id }])
    await harness.kill()
    await harness.restart()
    expect(await harness.runtime.observe()).toEqual(adopted)
    expect(containerPids(harness.host)).toEqual(pids)
    // The container has no recorded grace period, but can still be stopped.
    await harness.runtime.remove('one')
    expect(containerPids(harness.host)).toEqual([])
  })

  test('a container in backoff recorded by an earlier release is restarted, and the ordinals of its runs continue', async () => {
    await serveAndKill([container('processor', { ENDS_AFTER_MS: '100' })], 1)
    await until(() => expect(containerPids(harness.host)).toEqual([]))
    writeEarlierRecord({
      isRunOpen: false,
      run: 5,
      state: 'backoff',
      retryAt: new Date(0).toISOString(),
      outOfMemory: true,
    })
    await harness.restart()
    await until(async () =>
      expect(await harness.runtime.observe()).toMatchObject([{ lastRun: { ordinal: 5, exitCode: 9, how: 'error' } }]),
    )
  })

  test('a program whose record was lost in a power failure is ended and started again, so that it never runs twice concurrently', async () => {
    await serveAndKill([container('processor', {})], 1)
    const before = containerPids(harness.host)
    writeFileSync(join(harness.options.stateDir, 'containers/one/processor/record.json'), '')
    await harness.restart()
    await until(async () => expect(await harness.runtime.observe()).toMatchObject([{ state: 'running' }]))
    await until(() => expect(containerPids(harness.host)).toHaveLength(1))
    expect(containerPids(harness.host)).not.toEqual(before)
  })
})
