import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterCloud, hasClusterNetwork, startClusterCloud } from '../support/cluster-cloud.ts'
import { drain, schedulePodsOnlyOn } from '../support/cluster-nodes.ts'
import { makeCountingSquid } from '../support/counting-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { printFaults, reportFault } from '../support/fault-report.ts'
import { hasCluster, kubectl, nodeNames } from '../support/kubernetes.ts'
import { startLoad } from '../support/load.ts'
import { connectTo } from '../support/postgres.ts'
import { isFull } from '../support/tier.ts'
import { until } from '../support/until.ts'

/** The minimum number of requests during an update or a drain. `someRequests`: during the end of a single pod. */
const manyRequests = isFull ? 100_000 : 20_000
const someRequests = manyRequests / 4
const connections = 8

describe.skipIf(!hasCluster || !hasClusterNetwork)('requests to a squid in a cluster', () => {
  let opened: ClusterCloud
  let project: string
  let database: Client

  beforeAll(async () => {
    opened = await startClusterCloud()
    project = makeCountingSquid()
    const deployment = await deployCounting()
    const log = deployment.logs.map(({ message }) => message).join('\n')
    expect(deployment, log).toMatchObject({ status: 'OK', failed: 'NO' })
    const shoal = await connectTo(opened.cloud.shoal.dataDir, 'shoal')
    const { rows } = await shoal.query<{ database: string }>('select database from squid_databases')
    await shoal.end()
    database = new Client(opened.postgres.url(rows[0]?.database ?? ''))
    await database.connect()
  }, 600_000)

  afterAll(async () => {
    printFaults('successful requests', 'failed requests', 'slowest response')
    await database?.end()
    await opened?.end()
    if (project) rmSync(dirname(project), { recursive: true, force: true })
  }, 120_000)

  const deployCounting = async () => {
    const cloud = { ...opened.cloud, project }
    return waitForDeployment(cloud, await deploy(cloud, { slot: 'v1', name: 'counting' }), 300_000)
  }

  const starts = async () =>
    (await database.query<{ id: number; was_alone: boolean }>('select id, was_alone from starts order by id')).rows

  /** Returns the existing pods of a container. */
  const podsOf = async (container: string) => {
    const selector = `${opened.selector},shoal.dev/container=${container}`
    const path = 'jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name} {.spec.nodeName}{"\\n"}{end}'
    const output = await kubectl(['get', 'pods', '-A', '-l', selector, '-o', path])
    return output.split('\n').map((line) => {
      const [namespace = '', name = '', node = ''] = line.split(' ')
      return { namespace, name, node }
    })
  }

  /** Sends at least `count` requests before, during and after the interruption. Returns the failed requests. */
  async function failuresDuring(name: string, count: number, interrupt: () => Promise<void>) {
    const load = startLoad(opened.cloud.endpointOf('counting@v1'), connections)
    try {
      await until(() => load.successes() > 500, 'requests succeed')
      await interrupt()
      const after = load.successes()
      await until(() => load.successes() > after + 500, 'requests succeed after the interruption')
      await until(() => load.successes() >= count, 'enough requests have succeeded', 900_000)
    } finally {
      await load.stop()
      const numbers = [load.successes(), load.failures().length].map((number) => number.toLocaleString('en'))
      reportFault(name, ...numbers, `${(load.slowestMs() / 1000).toFixed(1)} s`)
    }
    return load.failures()
  }

  test('do not fail while the version is updated', { timeout: 1_200_000 }, async () => {
    // All programs must run on the node that the next test drains.
    const [node = ''] = await nodeNames()
    const allowOthers = await schedulePodsOnlyOn(node)
    const failures = await failuresDuring('version updated', manyRequests, async () => {
      expect(await deployCounting()).toMatchObject({ status: 'OK', failed: 'NO' })
    })
    expect(failures, opened.cloud.shoal.output().slice(-3000)).toEqual([])
    await allowOthers()
  })

  test('do not fail while the node of its programs is drained', { timeout: 1_200_000 }, async () => {
    const failures = await failuresDuring('node drained', manyRequests, async () => {
      const [{ node } = { node: '' }] = await podsOf('api')
      expect(await podsOf('processor')).toMatchObject([{ node }])
      const runs = (await starts()).length
      const undo = await drain(node, opened.selector)
      await until(async () => (await starts()).length > runs, 'the processor runs on the other node')
      await undo()
      for (const container of ['api', 'processor'])
        expect((await podsOf(container)).filter((pod) => pod.node === node)).toEqual([])
    })
    expect(failures, opened.cloud.shoal.output().slice(-3000)).toEqual([])
  })

  test('do not fail while the version is rolled back', { timeout: 1_200_000 }, async () => {
    const { api, org } = opened.cloud
    const params = { code: org, reference: 'counting@v1' }
    const failures = await failuresDuring('version rolled back', someRequests, async () => {
      const deployments = await api.deployments.list({ params: { code: org }, query: {} })
      const first = deployments.findLast(({ image }) => image !== null)
      const { id } = await api.squids.rollback({ params, body: { deploymentId: first?.id ?? 0 } })
      expect(await waitForDeployment(opened.cloud, id, 300_000)).toMatchObject({ status: 'OK', failed: 'NO' })
    })
    expect(failures, opened.cloud.shoal.output().slice(-3000)).toEqual([])
  })

  test('do not fail while the pod of its api is deleted', { timeout: 1_200_000 }, async () => {
    const failures = await failuresDuring('api pod deleted', someRequests, async () => {
      const [pod] = await podsOf('api')
      await kubectl(['delete', 'pod', '-n', pod?.namespace ?? '', pod?.name ?? ''])
    })
    expect(failures, opened.cloud.shoal.output().slice(-3000)).toEqual([])
  })

  test('do not fail while the pod of its api is killed', { timeout: 1_200_000 }, async () => {
    const failures = await failuresDuring('api pod killed', someRequests, async () => {
      const [pod] = await podsOf('api')
      await kubectl(['delete', 'pod', '-n', pod?.namespace ?? '', pod?.name ?? '', '--force', '--grace-period=0'])
    })
    expect(failures, opened.cloud.shoal.output().slice(-3000)).toEqual([])
  })

  test('no two processors of the squid ran at the same time', async () => {
    // The processor started for the first deployment, the update, the drain and the rollback.
    expect((await starts()).length).toBe(4)
    expect((await starts()).filter(({ was_alone }) => !was_alone)).toEqual([])
  })
})
