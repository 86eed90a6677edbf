import { existsSync, readFileSync } from 'node:fs'
import { createKubernetesRuntime } from '@shoal/runtime'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { countRequests } from '../../scripts/bench/support/cluster-growth/requests.ts'
import { type FakeCluster, startFakeCluster } from '../../scripts/kubernetes/fake-cluster.ts'
import { buildTool, kwok, missingTool } from '../../scripts/kubernetes/go-tool.ts'
import { container, driverOptions, workload } from './driver-harness.ts'

const kube = process.env['SHOAL_TEST_KUBE']
/** Nodes do not pull it. */
const image = 'image'
const canBuild = (await missingTool(kwok)) === null

describe.skipIf(!kube || !canBuild)('a simulated cluster', () => {
  let programs: Parameters<typeof startFakeCluster>[0]
  let cluster: FakeCluster

  beforeAll(async () => {
    programs = { kube: kube ?? '', kwok: await buildTool(kwok) }
    cluster = await startFakeCluster(programs, 3)
  }, 900_000)

  afterAll(() => cluster.end())

  async function startRuntime(installation: string) {
    const options = driverOptions({ kubeconfig: cluster.shoalKubeconfig, installation })
    const runtime = createKubernetesRuntime({ ...options, log: () => undefined })
    onTestFinished(() => runtime.close('keep'))
    expect(await runtime.start()).toEqual([])
    return runtime
  }

  /** Returns the numbers of requests of a driver so far. */
  const requests = () => countRequests(readFileSync(cluster.requestLog, 'utf8'))

  test('runs apis and processors, which another driver adopts without requests for each of them', async () => {
    const first = await startRuntime('fake')
    const ids = ['one', 'two', 'three']
    for (const id of ids)
      await first.apply(workload([container('api'), container('processor', { restart: 'on-failure' })], { id, image }))
    const states = async (runtime: typeof first) => (await runtime.observe()).map(({ state }) => state)
    const allRun = Array.from({ length: 2 * ids.length }, () => 'running')
    await expect.poll(() => states(first), { timeout: 60_000 }).toEqual(allRun)
    await first.close('keep')
    const before = requests().get('list pods') ?? 0
    const second = await startRuntime('fake')
    expect(await states(second)).toEqual(allRun)
    // A change of every workload would look for its pods first.
    await second.remove('one')
    await expect.poll(() => states(second), { timeout: 60_000 }).toEqual(allRun.slice(2))
    expect((requests().get('list pods') ?? 0) - before).toBe(1)
  })

  test('removes its files when it ends', async () => {
    const other = await startFakeCluster(programs, 1)
    await other.end()
    expect(existsSync(other.folder)).toBe(false)
    for (const { signalCode } of Object.values(other.processes)) expect(signalCode).toBe('SIGKILL')
  })
})
