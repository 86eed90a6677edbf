import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Nginx, startNginx } from '../../scripts/nginx.ts'
import { type ClusterCloud, hasClusterNetwork, startClusterCloud } from '../support/cluster-cloud.ts'
import { hasOwnParts, killPart } from '../support/cluster-parts.ts'
import { type InstalledCollector, canInstallCollector, installCollector } from '../support/collector.ts'
import { makeCountingSquid } from '../support/counting-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { printFaults, reportFault } from '../support/fault-report.ts'
import { freePort } from '../support/free-port.ts'
import { hasCluster, kubectl, nodeNames, tryKubectl } from '../support/kubernetes.ts'
import { type Load, startLoad } from '../support/load.ts'
import { connectTo } from '../support/postgres.ts'
import { type ServerProcess, startProcess } from '../support/server-process.ts'
import { isFull } from '../support/tier.ts'
import { until } from '../support/until.ts'

/** The minimum number of requests while a gateway is killed. */
const manyRequests = isFull ? 100_000 : 20_000
const connections = 8
/** How long the API server, the worker and the collectors are down. */
const downtimeMs = 60_000
/** The time limit for the move of programs to another node. The cluster notices a missing kubelet after 10 seconds, and moves an api 30 seconds later. */
const moveLimitMs = 180_000

const canCollect = await canInstallCollector()

/** A squid whose processor notices a second one and numbers its lines, behind three gateways and nginx, which never resends a request. */
describe.skipIf(!hasCluster || !hasClusterNetwork || !hasOwnParts)('faults of a cluster and of Shoal', () => {
  let opened: ClusterCloud
  let collector: InstalledCollector | null = null
  let project: string
  let database: Client
  let nginx: Nginx
  let load: Load
  const gateways: ServerProcess[] = []

  beforeAll(async () => {
    if (canCollect) collector = await installCollector()
    opened = await startClusterCloud(
      collector
        ? {
            SHOAL_KUBE_LOGS_LISTEN: `${collector.host}:${collector.port}`,
            SHOAL_KUBE_LOGS_TOKEN: collector.token,
          }
        : {},
    )
    for (const port of [await freePort(), await freePort()]) await startGateway(port)
    const urls = [opened.cloud.shoal.gatewayUrl, ...gateways.map(({ gatewayUrl }) => gatewayUrl)]
    nginx = await startNginx({ servers: urls.map((url) => `127.0.0.1:${new URL(url).port}`), keepAlive: 32 })
    project = makeCountingSquid()
    // All programs on one node, so that the loss of its kubelet moves all of them.
    const [, ...otherNodes] = await nodeNames()
    await kubectl(['cordon', ...otherNodes])
    const deployment = await waitFor(await deployCounting('v1')).finally(() => kubectl(['uncordon', ...otherNodes]))
    expect(deployment, logOf(deployment)).toMatchObject({ status: 'OK', failed: 'NO' })
    const shoal = await connectTo(opened.cloud.shoal.dataDir, 'shoal')
    const { rows } = await shoal.query<{ database: string }>('select database from squid_databases')
    await shoal.end()
    database = new Client(opened.postgres.url(rows[0]?.database ?? ''))
    await database.connect()
    load = startLoad(`${nginx.url}/${opened.cloud.org}/counting@v1/api/graphql`, connections)
  }, 900_000)

  afterAll(async () => {
    printFaults('successful requests', 'failed requests')
    await load?.stop()
    await nginx?.stop()
    await database?.end()
    for (const gateway of gateways) gateway.signal('SIGKILL')
    await Promise.all(gateways.map(({ ended }) => ended))
    await opened?.end()
    await collector?.remove()
    if (project) rmSync(dirname(project), { recursive: true, force: true })
  }, 180_000)

  async function startGateway(port: number): Promise<ServerProcess> {
    const settings = { ...opened.cloud.shoal.settings, SHOAL_PORT: '1', SHOAL_GATEWAY_PORT: `${port}` }
    const gateway = await startProcess({ ...settings, SHOAL_ROLES: 'gateway' })
    gateways.push(gateway)
    await gateway.ready()
    return gateway
  }

  const cloud = () => ({ ...opened.cloud, project })
  const deployCounting = (slot: string) => deploy(cloud(), { slot, name: 'counting' })
  const waitFor = (id: number) => waitForDeployment(opened.cloud, id, 300_000)
  const logOf = ({ logs }: { logs: { message: string }[] }) => logs.map(({ message }) => message).join('\n')

  /** Returns the pods of v1 that exist, with everything that a restart or a move would change. */
  const pods = async (container: string) => {
    const { id } = await opened.cloud.api.squids.get({ params: { code: opened.cloud.org, reference: 'counting@v1' } })
    const selector = `${opened.selector},shoal.dev/version=${id},shoal.dev/container=${container}`
    const fields = '{.metadata.uid} {.status.containerStatuses[0].restartCount} {.spec.nodeName}'
    const path = `jsonpath={range .items[*]}${fields}{"\\n"}{end}`
    const output = await kubectl(['get', 'pods', '-A', '-l', selector, '-o', path])
    return output.split('\n').flatMap((line) => {
      const [uid = '', restarts = '', node = ''] = line.split(' ')
      return uid === '' || line.startsWith('No resources') ? [] : [{ uid, restarts, node }]
    })
  }

  const starts = async () =>
    (await database.query<{ id: number; was_alone: boolean }>('select id, was_alone from starts order by id')).rows

  /** Waits until each gateway has served a request, since nginx uses a failed server again only after at least a second. */
  async function untilAllGatewaysServe(ports: string[]) {
    const counts = () => ports.map((port) => load.successesOf(`127.0.0.1:${port}`))
    const before = counts()
    await until(() => counts().every((count, index) => count > (before[index] ?? 0)), 'all gateways serve requests')
  }

  /** Returns the requests that failed before, during and after the fault, of which at least `count` must succeed. */
  async function failuresDuring(name: string, cause: () => Promise<void>, count = 0) {
    const [failuresBefore, successesBefore] = [load.failures().length, load.successes()]
    const successes = () => load.successes() - successesBefore
    await until(() => successes() > 500, 'requests succeed')
    try {
      await cause()
      const after = successes()
      await until(() => successes() > after + 500, 'requests succeed after the fault')
      await until(() => successes() >= count, 'enough requests have succeeded', 900_000)
    } finally {
      const failed = load.failures().length - failuresBefore
      reportFault(name, successes().toLocaleString('en'), String(failed))
    }
    return load.failures().slice(failuresBefore)
  }

  /** Waits until `downtimeMs` have passed since `startedMs`, while requests succeed. */
  const untilDowntimeEnds = (startedMs: number) =>
    until(() => performance.now() - startedMs > downtimeMs, 'a minute has passed', downtimeMs + 10_000)

  const portOf = ({ gatewayUrl }: Pick<ServerProcess, 'gatewayUrl'>) => new URL(gatewayUrl).port

  test(
    'when one of three gateways is killed, only the requests that it was serving fail',
    { timeout: 1_200_000 },
    async () => {
      const ports = [opened.cloud.shoal, ...gateways].map(portOf)
      const failures = await failuresDuring(
        'gateway killed, started again',
        async () => {
          await untilAllGatewaysServe(ports)
          const [killed] = gateways
          killed?.signal('SIGKILL')
          await killed?.ended
          const before = load.successes()
          await until(() => load.successes() > before + manyRequests / 4, 'the other gateways serve requests')
          await startGateway(Number(ports[1]))
          await untilAllGatewaysServe(ports)
        },
        manyRequests,
      )
      expect(failures.length).toBeLessThanOrEqual(connections)
      expect(failures.filter(({ servers }) => !servers.includes(`:${ports[1]}`))).toEqual([])
    },
  )

  test('a kubelet that is killed and started again changes nothing', { timeout: 600_000 }, async () => {
    const [api, processor] = [await pods('api'), await pods('processor')]
    const failures = await failuresDuring('kubelet killed, started again immediately', async () => {
      killPart('kubelet', processor[0]?.node ?? '')()
      const since = await heartbeatOf(processor[0]?.node ?? '')
      await until(
        async () => (await heartbeatOf(processor[0]?.node ?? '')) !== since,
        'the kubelet reports to the cluster again',
      )
    })
    expect(failures).toEqual([])
    expect(await pods('api')).toEqual(api)
    expect(await pods('processor')).toEqual(processor)
  })

  test(
    'while the API server is down for a minute, nothing is restarted, and a deployment in progress continues afterwards',
    { timeout: 900_000 },
    async () => {
      const [api, processor, runs] = [await pods('api'), await pods('processor'), await starts()]
      const failures = await failuresDuring('API server down for 60 s', async () => {
        // A changed source, so that the image of v1 is not reused.
        writeFileSync(join(project, 'changed.txt'), 'v2')
        const id = await deployCounting('v2')
        const read = () => opened.cloud.api.deployments.get({ params: { code: opened.cloud.org, id: String(id) } })
        await until(async () => logOf(await read()).includes('$ '), 'its build runs')
        const startedMs = performance.now()
        const startApiServer = killPart('kube-apiserver', 'control')
        await untilDowntimeEnds(startedMs)
        expect(await read()).toMatchObject({ failed: 'NO' })
        startApiServer()
        await until(
          async () => (await tryKubectl(['get', '--raw', '/readyz'])).output === 'ok',
          'the API server is ready',
        )
        const deployment = await waitFor(id)
        expect(deployment, logOf(deployment)).toMatchObject({ status: 'OK', failed: 'NO' })
        // Each gateway learns the addresses of the new version from its own watch.
        for (const { gatewayUrl } of [opened.cloud.shoal, ...gateways.slice(1)])
          await until(async () => {
            const url = `${gatewayUrl}/${opened.cloud.org}/counting@v2/api/graphql`
            const response = await fetch(url, { method: 'POST', body: '{"query":"{ __typename }"}' }).catch(() => null)
            return response?.ok
          }, `${gatewayUrl} serves the new version`)
      })
      expect(failures).toEqual([])
      expect(await pods('api')).toEqual(api)
      expect(await pods('processor')).toEqual(processor)
      expect(await starts()).toEqual(runs)
    },
  )

  test(
    'when a kubelet is killed, its programs move to the other node, and after its return nothing runs twice',
    { timeout: 900_000 },
    async () => {
      const [[processor], [api]] = [await pods('processor'), await pods('api')]
      const node = processor?.node ?? ''
      expect(api?.node).toBe(node)
      const failures = await failuresDuring('kubelet killed until programs have moved', async () => {
        const runs = (await starts()).length
        const startKubelet = killPart('kubelet', node)
        await until(async () => (await starts()).length > runs, 'the processor has moved', moveLimitMs)
        const isMoved = async () => (await pods('api')).some((pod) => pod.node !== node)
        await until(isMoved, 'the api has moved', moveLimitMs)
        startKubelet()
        await kubectl(['wait', `node/${node}`, '--for=condition=Ready', '--timeout=50s'])
        for (const container of ['api', 'processor'])
          await until(async () => {
            const existing = await pods(container)
            return existing.length === 1 && existing[0]?.node !== node
          }, `one pod of ${container} is left`)
      })
      expect(failures).toEqual([])
      expect((await starts()).filter(({ was_alone }) => !was_alone)).toEqual([])
    },
  )

  test.skipIf(!canCollect)(
    'while the collectors and then the worker are down for a minute, no line is lost or stored twice',
    { timeout: 900_000 },
    async () => {
      const [processor, runs] = [await pods('processor'), (await starts()).length]
      const ports = [opened.cloud.shoal, ...gateways.slice(1)].map(portOf)
      const setNodeSelector = (selector: object | null) =>
        kubectl([
          'patch',
          'daemonset',
          'collector',
          '-n',
          'shoal-collector',
          '-p',
          JSON.stringify({ spec: { template: { spec: { nodeSelector: selector } } } }),
        ])
      const collectors = async () => await kubectl(['get', 'pods', '-n', 'shoal-collector', '-o', 'name'])
      // No node has this label, so no collector can run.
      await setNodeSelector({ 'shoal.dev/none': 'true' })
      await kubectl(['delete', 'pods', '-n', 'shoal-collector', '--all', '--grace-period=1'])
      await until(async () => !(await collectors()).includes('pod/'), 'no collector runs')
      await untilDowntimeEnds(performance.now())
      await setNodeSelector(null)
      await kubectl(['rollout', 'status', 'daemonset/collector', '-n', 'shoal-collector', '--timeout=50s'])

      const failures = await failuresDuring('worker, with a gateway, down for 60 s', async () => {
        await untilAllGatewaysServe(ports)
        await opened.cloud.shoal.kill()
        await untilDowntimeEnds(performance.now())
        await opened.cloud.shoal.start()
        await untilAllGatewaysServe(ports)
      })
      expect(failures.length).toBeLessThanOrEqual(connections)
      expect(failures.filter(({ servers }) => !servers.includes(`:${ports[0]}`))).toEqual([])
      expect(await pods('processor')).toEqual(processor)
      expect((await starts()).length).toBe(runs)

      const isCurrent = async () => Date.now() - (await newestLine()) < 10_000
      await until(isCurrent, 'lines arrive without a delay again', 180_000)
      const lines = await linesByRun()
      expect([...lines.keys()].toSorted((a, b) => a - b)).toEqual((await starts()).map(({ id }) => id))
      for (const [run, numbers] of lines) {
        const sorted = numbers.toSorted((a, b) => a - b)
        const wrong = sorted.findIndex((number, index) => number !== index)
        expect(wrong, `run ${run}: line ${wrong} of ${sorted.length}`).toBe(-1)
      }
    },
  )

  /** Returns the time of the node's last heartbeat. */
  const heartbeatOf = (node: string) =>
    kubectl(['get', 'lease', '-n', 'kube-node-lease', node, '-o', 'jsonpath={.spec.renewTime}'])

  const history = (query: Record<string, string>) =>
    opened.cloud.api.logs.history({
      params: { code: opened.cloud.org, reference: 'counting@v1' },
      query: { container: ['processor'], limit: '10000', orderBy: 'asc', ...query },
    })

  /** Returns the time of the newest stored line of the processor. */
  async function newestLine(): Promise<number> {
    const { logs } = await history({ orderBy: 'desc', limit: '1' })
    return new Date(logs[0]?.timestamp ?? 0).getTime()
  }

  /** Returns the numbers of the processor's stored lines by run, in the order of their times. */
  async function linesByRun(): Promise<Map<number, number[]>> {
    const runs = new Map<number, number[]>()
    const to = new Date(Date.now() - 5000).toISOString()
    let nextPage: string | undefined
    do {
      const page = await history({ to, ...(nextPage && { nextPage }) })
      for (const { payload } of page.logs) {
        const [, run, number] = /^run (\d+) line (\d+)$/.exec(String(payload)) ?? []
        if (run && number) runs.set(Number(run), [...(runs.get(Number(run)) ?? []), Number(number)])
      }
      nextPage = page.nextPage ?? undefined
    } while (nextPage)
    return runs
  }
})
