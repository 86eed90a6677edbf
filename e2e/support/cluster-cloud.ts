import { type EmbeddedPostgres, startEmbeddedPostgres } from '@shoal/runtime'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startConnectProxy } from './connect-proxy.ts'
import { relay } from '../../scripts/relay.ts'
import { kubectl } from './kubernetes.ts'
import { connectTo } from './postgres.ts'
import { freePort } from './free-port.ts'
import { startTestCloud, type TestCloud } from './test-cloud.ts'

const host = process.env['SHOAL_TEST_HOST_ADDRESS']
const registry = process.env['SHOAL_TEST_REGISTRY']

/** True if the pods of the cluster can reach this host, and its nodes can reach a registry. */
export const hasClusterNetwork = Boolean(host && registry)

/** A test cloud whose squids run in the cluster, with their Postgres and chain on this host. */
export type ClusterCloud = {
  cloud: TestCloud
  /** The Postgres that has the databases of squids. */
  postgres: EmbeddedPostgres
  /** The label selector for the namespaces and pods of this installation. */
  selector: string
  end: () => Promise<void>
}

/** Starts a server with `SHOAL_RUNTIME=kubernetes`. `env` is added to its environment. */
export async function startClusterCloud(env: Record<string, string> = {}): Promise<ClusterCloud> {
  const folder = mkdtempSync(join(tmpdir(), 'kube-cloud-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  // Postgres runs as another user.
  chmodSync(folder, 0o711)
  const postgres = await startEmbeddedPostgres({ dir: join(folder, 'postgres') })
  cleanup.defer(() => postgres.stop())
  const openPort = async (port: number) => {
    const opened = await relayTo(port)
    cleanup.defer(() => void opened.server.close())
    return opened.port
  }
  const database = new URL(postgres.url('postgres'))
  database.port = String(await openPort(Number(database.port)))
  database.hostname = host ?? ''
  const devnetPort = await freePort()
  const chainPort = await openPort(devnetPort)
  // Builds run in pods, which reach the npm registry only through this host.
  const proxy = await startConnectProxy(host ?? '')
  cleanup.defer(() => proxy.close())
  const cloud = await startTestCloud({
    devnetPort,
    env: {
      npm_config_https_proxy: proxy.url,
      SHOAL_RUNTIME: 'kubernetes',
      SHOAL_KUBECONFIG: process.env['SHOAL_TEST_KUBECONFIG'] ?? '',
      SHOAL_KUBE_GATEWAYS: `${host}`,
      SHOAL_KUBE_CPU_RATIO: '0.1',
      SHOAL_REGISTRY: `http://${registry}/deploy-${randomBytes(4).toString('hex')}`,
      SHOAL_SQUIDS_DATABASE_URL: database.href,
      SHOAL_GATEWAY_URL: `http://${host}:${await freePort()}/{org}`,
      SHOAL_NETWORK_ALLOW: `${host}:${chainPort}`,
      SHOAL_ON_EXIT: 'keep',
      ...env,
    },
  })
  cleanup.defer(() => cloud.end())
  const client = await connectTo(cloud.shoal.dataDir, 'shoal')
  const { rows } = await client.query<{ prefix: string }>('select prefix from installation')
  await client.end()
  const selector = `shoal.dev/installation=${rows[0]?.prefix}`
  cleanup.defer(async () => void (await kubectl(['delete', 'namespace', '-l', selector, '--wait=false'])))
  const secrets = [{ action: 'UPDATE' as const, name: 'RPC_URL', value: `http://${host}:${chainPort}` }]
  await cloud.api.secrets.change({ params: { code: cloud.org }, body: { secrets } })
  const stack = cleanup.move()
  return { cloud, postgres, selector, end: () => stack.disposeAsync() }
}

/** Accepts connections on this host's address in the cluster's network, and relays them to a loopback port. */
export const relayTo = (port: number) => relay(host ?? '', port)
