import { createSimRuntime, ManualClock } from '@shoal/runtime'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { WorkerApp } from '../../../app.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { workloadIdOf } from '../../manifest/index.ts'
import { makeVersion } from '../../versions/testing/make-version.ts'
import { readContainers } from '../containers/observe-containers.ts'
import { loadObservationCache, type ObservationCache } from '../observation-cache.ts'
import { FairRounds } from './fair-rounds.ts'
import { observeApis } from './observe-apis.ts'
import { allVersions } from './turns.ts'

let t: TestApp
let app: WorkerApp
let cache: ObservationCache
let rounds: FairRounds
/** Accepts connections and never responds. */
let silent: Server
let maxConnections = 0
/** The workloads whose apis do not respond. */
let silentWorkloads: Set<string>
let responding: Server
let runtime: ReturnType<typeof createSimRuntime>
let status = 200
let neighbour: TestOrg

const listen = async (server: Server) => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return (server.address() as AddressInfo).port
}

beforeEach(async () => {
  const clock = new ManualClock()
  runtime = createSimRuntime({ clock })
  maxConnections = 0
  t = await startTestApp({ clock, runtime })
  let connections = 0
  silent = createServer(() => undefined).on('connection', (socket) => {
    maxConnections = Math.max(maxConnections, ++connections)
    socket.once('close', () => connections--)
  })
  responding = createServer((_, res) => res.writeHead(status).end())
  const [silentPort, respondingPort] = [await listen(silent), await listen(responding)]
  silentWorkloads = new Set()
  neighbour = await t.make.org()
  await makeVersion(t.app, neighbour, { apis: [{}] })
  const endpoint = (workload: string) => ({
    kind: 'tcp' as const,
    host: '127.0.0.1',
    port: silentWorkloads.has(workload) ? silentPort : respondingPort,
  })
  app = { ...t.app, directory: { ...t.app.directory, endpoint } }
  rounds = new FairRounds(app, 100)
})
afterEach(async () => {
  for (const server of [silent, responding]) {
    server.closeAllConnections()
    server.close()
  }
  await rounds?.close()
  await t?.close()
})

/** Adds an organization with apis that do not respond. */
async function addSilentOrg(apis: number): Promise<void> {
  const { id } = await makeVersion(t.app, await t.make.org(), { apis: Array.from({ length: apis }, () => ({})) })
  silentWorkloads.add(workloadIdOf(id, 1))
}

async function loadObservations(): Promise<void> {
  cache = await loadObservationCache(app)
  await cache.recordContainers(await readContainers({ clock: t.app.clock, runtime }, cache.containers))
}

/** Runs a round. Returns the status of the neighbour's api. */
async function observe() {
  await observeApis(app, cache, () => allVersions, rounds)
  const { api } = await t
    .as(neighbour.admin)
    .squids.get({ params: { code: neighbour.code, reference: 'test-squid@v1' } })
  return api?.status
}

test('apis of one organization that do not respond neither delay the probes of others nor use all connections', async () => {
  await addSilentOrg(300)
  await loadObservations()
  expect(await observe()).toBe('AVAILABLE')
  status = 500
  expect(await observe()).toBe('NOT_AVAILABLE')
  status = 200
  expect(await observe()).toBe('AVAILABLE')
  expect(maxConnections).toBeGreaterThan(0)
  expect(maxConnections).toBeLessThanOrEqual(16)
})

test('apis of many organizations that do not respond do not use all connections', async () => {
  for (let i = 0; i < 20; i++) await addSilentOrg(16)
  await loadObservations()
  status = 200
  await observe()
  expect(await observe()).toBe('AVAILABLE')
  status = 500
  expect(await observe()).toBe('NOT_AVAILABLE')
  expect(maxConnections).toBeGreaterThan(20)
  expect(maxConnections).toBeLessThan(256)
})
