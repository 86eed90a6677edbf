import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { systemRuntimeClock } from '../clock.ts'
import type { ContainerSpec, PortEndpoint, Workload } from '../driver.ts'
import { ManualClock } from '../manual-clock.ts'
import { BEHAVIOUR_VARIABLE, type SimBehaviour } from './behaviour.ts'
import { progressAfter } from './sim-progress.ts'
import { type SimRuntime, createSimRuntime } from './sim-driver.ts'

const MIB = 1024 * 1024
const sync = { fromBlock: 100, headBlock: 1000, headBlocksPerSecond: 2, blocksPerSecond: 100 }

const container = (name: string, behaviour: SimBehaviour | null): ContainerSpec => ({
  name,
  command: ['run'],
  env: behaviour ? { [BEHAVIOUR_VARIABLE]: JSON.stringify(behaviour) } : {},
  resources: { cpuCores: 0.5, memoryBytes: 100 * MIB },
  restart: name === 'init' ? 'never' : 'on-failure',
  ports: [3000],
  stopGraceMs: 5000,
})

const workload = (...containers: ContainerSpec[]): Workload => ({
  id: 'one',
  tenant: 'org',
  version: 'one',
  image: 'image',
  containers,
})

async function startSim(...containers: ContainerSpec[]): Promise<{ clock: ManualClock; runtime: SimRuntime }> {
  const clock = new ManualClock()
  const runtime = createSimRuntime({ clock, serve: true })
  await runtime.start()
  await runtime.apply(workload(...containers))
  return { clock, runtime }
}

describe('a simulated processor', () => {
  test('catches up with the head, and then follows it', () => {
    expect(progressAfter(sync, 0)).toEqual({ lastBlock: 100, headBlock: 1000, blocksPerSecond: 100 })
    expect(progressAfter(sync, 5)).toEqual({ lastBlock: 600, headBlock: 1010, blocksPerSecond: 100 })
    expect(progressAfter(sync, 100)).toEqual({ lastBlock: 1200, headBlock: 1200, blocksPerSecond: 2 })
  })

  test('can stall without an error', () => {
    const stalling = { ...sync, stallsAtBlock: 300 }
    expect(progressAfter(stalling, 100)).toEqual({ lastBlock: 300, headBlock: 1200, blocksPerSecond: 0 })
  })

  test('serves metrics like a real one, but only while it is running', async () => {
    const { clock, runtime } = await startSim(container('processor', { sync, ends: { afterMs: 10_000, exitCode: 1 } }))
    try {
      clock.advance(5000)
      const endpoint = runtime.directory.endpoint('one', 'processor', 3000)
      const { status, text } = await call(endpoint, 'GET', '/metrics')
      expect(status).toBe(200)
      expect(text).toContain('\nsqd_processor_last_block 600\n')
      expect(text).toContain('\nsqd_processor_chain_height 1010\n')
      clock.advance(5000)
      expect(await runtime.observe()).toMatchObject([{ state: 'backoff', lastRun: { exitCode: 1 } }])
      await expect(call(runtime.directory.endpoint('one', 'processor', 3000), 'GET', '/metrics')).rejects.toThrow(
        /ENOENT|ECONNREFUSED/,
      )
    } finally {
      await runtime.close('stop')
    }
  })
})

test('the servers of programs can run in another process', async () => {
  const startedAt = new Date()
  const runtime = createSimRuntime({ clock: systemRuntimeClock, serve: true })
  await runtime.start()
  const behaviour: SimBehaviour = { sync, isServedSeparately: true }
  await runtime.apply(workload(container('processor', behaviour), container('api', { isServedSeparately: true })))
  const endpointOf = (name: string) => runtime.directory.endpoint('one', name, 3000)
  try {
    const metrics = await eventually(() => call(endpointOf('processor'), 'GET', '/metrics'))
    const lastBlock = Number(/^sqd_processor_last_block (\d+)$/m.exec(metrics.text)?.[1])
    expect(lastBlock).toBeGreaterThanOrEqual(sync.fromBlock)
    expect(lastBlock).toBeLessThanOrEqual(progressAfter(sync, (Date.now() - startedAt.getTime()) / 1000).lastBlock)
    const graphql = await eventually(() => call(endpointOf('api'), 'POST', '/graphql'))
    expect(JSON.parse(graphql.text)).toEqual({ data: { __typename: 'Query' } })
    // A removed program no longer listens; the others do.
    const removed = endpointOf('api')
    await runtime.apply(workload(container('processor', behaviour)))
    await expect
      .poll(() => call(removed, 'POST', '/graphql').catch((error: Error) => error.message))
      .toMatch(/ENOENT|ECONNREFUSED/)
    expect(await call(endpointOf('processor'), 'GET', '/metrics')).toMatchObject({ status: 200 })
  } finally {
    await runtime.close('stop')
  }
})

/** Repeats a call until it succeeds. */
async function eventually<T>(send: () => Promise<T>): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>()
  await expect
    .poll(
      () =>
        send().then(
          (result) => (resolve(result), true),
          () => false,
        ),
      { timeout: 10_000 },
    )
    .toBe(true)
  return promise
}

test('a simulated squid without a configured behaviour is healthy', async () => {
  const { clock, runtime } = await startSim(
    container('init', null),
    container('api', null),
    container('processor', null),
  )
  try {
    clock.advance(100)
    const states = (await runtime.observe()).map((observation) => [
      observation.container,
      observation.state,
      observation.lastRun?.exitCode,
    ])
    expect(states).toEqual([
      ['init', 'finished', 0],
      ['api', 'running', undefined],
      ['processor', 'running', undefined],
    ])
    const response = await call(
      runtime.directory.endpoint('one', 'api', 3000),
      'POST',
      '/graphql',
      '{"query":"{__typename}"}',
    )
    expect(response).toEqual({ status: 200, text: '{"data":{"__typename":"Query"}}' })
  } finally {
    await runtime.close('stop')
  }
})

test('a program is killed when its memory reaches the limit; CPU beyond the limit is throttled', async () => {
  const usage = { cpuCores: 1, memoryBytes: 50 * MIB, memoryGrowthBytesPerSecond: 5 * MIB }
  const { clock, runtime } = await startSim(container('processor', { usage }))
  clock.advance(9000)
  expect(await runtime.usage()).toMatchObject([
    { memoryBytes: 95 * MIB, cpuSeconds: 4.5, throttledSeconds: 4.5, oomKills: 0 },
  ])
  clock.advance(1000)
  expect(await runtime.observe()).toMatchObject([
    { state: 'backoff', lastRun: { how: 'oom', exitCode: 137, oomKills: 1 } },
  ])
})

test('a program can fail its first runs, start slowly and print periodically', async () => {
  const behaviour: SimBehaviour = {
    startMs: 500,
    endingRuns: 1,
    ends: { afterMs: 100, exitCode: 1 },
    periodicOutput: { everyMs: 1000, text: 'line {n}' },
  }
  const { clock, runtime } = await startSim(container('processor', behaviour))
  expect(await runtime.observe()).toMatchObject([{ state: 'starting' }])
  clock.advance(600)
  expect(await runtime.observe()).toMatchObject([{ state: 'backoff', lastRun: { ordinal: 0 } }])
  clock.advance(1000 + 500 + 3_600_000)
  expect(await runtime.observe()).toMatchObject([{ state: 'running', run: { ordinal: 1 } }])
  expect(await runtime.tail('one', 'processor', 2)).toEqual(['line 3599', 'line 3600'])
})

test.each([
  ['{ends', 'SIM_BEHAVIOUR must be JSON'],
  ['[]', 'SIM_BEHAVIOUR must be an object'],
  ['{"crashes":true}', 'SIM_BEHAVIOUR has an unknown property crashes; known: startMs, cannotStart, print,'],
  ['{"toString":1}', 'SIM_BEHAVIOUR has an unknown property toString'],
  ['{"print":"a line"}', 'SIM_BEHAVIOUR.print must be an array of strings'],
  [
    '{"ends":{"afterMs":10,"signal":9}}',
    'SIM_BEHAVIOUR.ends has an unknown property signal; known: afterMs, exitCode, outOfMemory',
  ],
  ['{"ends":{"afterMs":10}}', 'SIM_BEHAVIOUR.ends must have either exitCode or outOfMemory'],
  ['{"ends":{"exitCode":1}}', 'SIM_BEHAVIOUR.ends.afterMs is required'],
  ['{"ends":{"afterMs":10,"outOfMemory":false}}', 'SIM_BEHAVIOUR.ends.outOfMemory must be true'],
  ['{"ends":null}', 'SIM_BEHAVIOUR.ends must be an object'],
  ['{"sync":{"fromBlock":"0"}}', 'SIM_BEHAVIOUR.sync.fromBlock must be a number'],
])('a program with an invalid behaviour does not start and reports the reason: %s', async (json, expected) => {
  const spec = { ...container('processor', null), env: { [BEHAVIOUR_VARIABLE]: json } }
  const { runtime } = await startSim(spec)
  expect(await runtime.observe()).toMatchObject([{ state: 'failed', reason: expect.stringContaining(expected) }])
  await runtime.close('stop')
})

test('a month of thousands of squids is simulated without running each moment', async () => {
  const clock = new ManualClock()
  const runtime = createSimRuntime({ clock })
  const containers = [container('api', null), container('processor', null)]
  for (let index = 0; index < 5000; index++) await runtime.apply({ ...workload(...containers), id: `squid-${index}` })
  clock.advance(30 * 86_400_000)
  expect(await runtime.observe()).toHaveLength(10_000)
  expect((await runtime.usage())[1]?.cpuSeconds).toBeCloseTo(0.05 * 30 * 86_400)
})

function call(
  endpoint: PortEndpoint | null,
  method: string,
  path: string,
  body?: string,
): Promise<{ status: number; text: string }> {
  const socketPath = endpoint?.kind === 'unix' ? endpoint.path : ''
  return new Promise((resolve, reject) => {
    const clientRequest = request({ socketPath, method, path, agent: false }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() })
    })
    clientRequest.on('error', reject)
    clientRequest.end(body)
  })
}
