import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { startEmbeddedPostgres } from '../../runtime/src/postgres/embedded-postgres.ts'
import { startConnectProxy } from '../../e2e/support/connect-proxy.ts'
import { relay } from '../relay.ts'
import { CannotBuild } from './go.ts'
import { closeTestCluster, openTestCluster } from './test-cluster.ts'

const execute = promisify(execFile)
/** The label selector for the pods of squids. */
const workloads = 'app.kubernetes.io/managed-by=shoal,shoal.dev/workload'

export type DemoCluster = {
  /** The address of this host for pods. */
  host: string
  /** Environment variables for a server that runs squids in the cluster, and for its operator's commands. */
  env: Record<string, string>
  /** The URL at which pods reach the loopback port of the chain. */
  chainUrl: string
  /** Drains the node of the squid's api, as an operator does before maintenance, and waits until the api is on another node. Returns the names of the api's nodes before and after. */
  drain: () => Promise<{ from: string; to: string }>
  /** Ends the cluster and its Postgres. Returns one line for each thing that is left on this machine. */
  end: () => Promise<string[]>
}

/**
 * Starts a cluster of two nodes on this machine, or uses that of SHOAL_TEST_KUBECONFIG, with a Postgres for squids on the host.
 * @throws CannotBuild if this machine cannot run a cluster, with the reason
 */
export async function startDemoCluster(chainPort: number): Promise<DemoCluster> {
  await using cleanup = new AsyncDisposableStack()
  const leftovers: string[] = []
  cleanup.defer(() => void leftovers.push(...closeTestCluster()))
  const cluster = await openTestCluster()
  if ('missing' in cluster) throw new CannotBuild(cluster.missing)
  const variables = { ...process.env, ...cluster.env }
  const [host = '', kubeconfig = ''] = [variables['SHOAL_TEST_HOST_ADDRESS'], variables['SHOAL_TEST_KUBECONFIG']]
  const [program = 'kubectl', ...first] = (variables['SHOAL_TEST_KUBECTL'] ?? 'kubectl').split(' ')
  const kubectl = async (...args: string[]) => {
    const { stdout } = await execute(program, [...first, '--request-timeout=60s', ...args], {
      env: { ...process.env, KUBECONFIG: kubeconfig },
    })
    return stdout.trim()
  }
  const folder = mkdtempSync(join(tmpdir(), 'shoal-demo-'))
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  // Postgres runs as another user, who must be able to enter the folder.
  chmodSync(folder, 0o711)
  const postgres = await startEmbeddedPostgres({ dir: join(folder, 'postgres') })
  cleanup.defer(() => postgres.stop())
  // The server has SHOAL_ON_EXIT=keep, with which its embedded Postgres would keep running too. So this Postgres also has Shoal's database.
  const client = new Client({ connectionString: postgres.url('postgres') })
  await client.connect()
  await client.query('create database shoal')
  await client.end()
  const openPort = async (port: number) => {
    const opened = await relay(host, port)
    cleanup.defer(() => void opened.server.close())
    return opened.port
  }
  const database = new URL(postgres.url('postgres'))
  database.port = String(await openPort(Number(database.port)))
  database.hostname = host
  // The nodes of the cluster can reach only this host, and builds need the npm registry.
  const proxy = await startConnectProxy(host)
  cleanup.defer(() => proxy.close())
  const chain = `${host}:${await openPort(chainPort)}`
  const repository = `demo-${randomBytes(4).toString('hex')}`
  /** Returns the demo's pods, as lists of namespace, container, node and image. */
  const pods = async () => {
    const podFields =
      '{.metadata.namespace} {.metadata.annotations.shoal\\.dev/container} {.spec.nodeName} {.spec.containers[0].image}'
    const path = `jsonpath={range .items[?(@.status.phase=="Running")]}${podFields}{"\\n"}{end}`
    const output = await kubectl('get', 'pods', '-A', '-l', workloads, '-o', path)
    return output
      .split('\n')
      .filter((line) => line.includes(`/${repository}/`))
      .map((line) => line.split(' '))
  }
  // A cluster that the demo did not start keeps running, so the demo deletes its namespaces.
  cleanup.defer(async () => {
    const namespaces = new Set((await pods().catch(() => [])).map(([namespace = '']) => namespace))
    if (namespaces.size > 0) await kubectl('delete', 'namespace', ...namespaces, '--wait=false')
  })
  const ending = cleanup.move()
  return {
    host,
    chainUrl: `http://${chain}`,
    env: {
      SHOAL_DATA_DIR: join(folder, 'data'),
      DATABASE_URL: postgres.url('shoal'),
      npm_config_https_proxy: proxy.url,
      SHOAL_RUNTIME: 'kubernetes',
      SHOAL_KUBECONFIG: kubeconfig,
      SHOAL_KUBE_GATEWAYS: host,
      SHOAL_KUBE_CPU_RATIO: '0.1',
      SHOAL_REGISTRY: `http://${variables['SHOAL_TEST_REGISTRY']}/${repository}`,
      SHOAL_SQUIDS_DATABASE_URL: database.href,
      SHOAL_NETWORK_ALLOW: chain,
      SHOAL_ON_EXIT: 'keep',
    },
    async drain() {
      const nodeOfApi = async () => (await pods()).find(([, container]) => container === 'api')?.[2] ?? ''
      const from = await nodeOfApi()
      await kubectl('drain', from, '--pod-selector', workloads, '--delete-emptydir-data', '--timeout=120s')
      let to = ''
      while (to === '' || to === from) {
        await delay(250)
        to = await nodeOfApi()
      }
      await kubectl('uncordon', from)
      return { from, to }
    },
    async end() {
      await ending.disposeAsync()
      return leftovers
    },
  }
}
