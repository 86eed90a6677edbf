import { type EmbeddedPostgres, startEmbeddedPostgres } from '@shoal/runtime'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, type Server, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { hasCluster, kubectl, nodeNames } from '../support/kubernetes.ts'
import { connectTo } from '../support/postgres.ts'
import { freePort } from '../support/free-port.ts'
import { totalTransfers } from '../support/squid.ts'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { until } from '../support/until.ts'

const host = process.env['SHOAL_TEST_HOST_ADDRESS']
const registry = process.env['SHOAL_TEST_REGISTRY']

/** Accepts connections on the host's address in the cluster's network, and relays them to a port of loopback. */
async function relayTo(port: number): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => {
    const upstream = connect(port, '127.0.0.1')
    socket.pipe(upstream).pipe(socket)
    socket.on('error', () => upstream.destroy())
    upstream.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return { port: (server.address() as AddressInfo).port, server }
}

describe.skipIf(!hasCluster || !host || !registry)('a squid deployed to a cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kube-deploy-'))
  const relays: Server[] = []
  let postgres: EmbeddedPostgres
  let cloud: TestCloud
  let rpcUrl: string
  let namespaces: string

  const relay = async (port: number) => {
    const opened = await relayTo(port)
    relays.push(opened.server)
    return opened.port
  }

  beforeAll(async () => {
    // Postgres runs as another user.
    chmodSync(folder, 0o711)
    postgres = await startEmbeddedPostgres({ dir: join(folder, 'postgres') })
    const database = new URL(postgres.url('postgres'))
    database.port = String(await relay(Number(database.port)))
    database.hostname = host ?? ''
    const devnetPort = await freePort()
    const chainPort = await relay(devnetPort)
    rpcUrl = `http://${host}:${chainPort}`
    const env = {
      SHOAL_RUNTIME: 'kubernetes',
      SHOAL_KUBECONFIG: process.env['SHOAL_TEST_KUBECONFIG'] ?? '',
      SHOAL_KUBE_GATEWAYS: `${host}`,
      SHOAL_KUBE_CPU_RATIO: '0.1',
      SHOAL_REGISTRY: `http://${registry}/deploy-${randomBytes(4).toString('hex')}`,
      SHOAL_SQUIDS_DATABASE_URL: database.href,
      SHOAL_GATEWAY_URL: `http://${host}:${await freePort()}/{org}`,
      SHOAL_NETWORK_ALLOW: `${host}:${chainPort}`,
      SHOAL_ON_EXIT: 'keep',
    }
    cloud = await startTestCloud({ env, devnetPort })
    const client = await connectTo(cloud.shoal.dataDir, 'shoal')
    const { rows } = await client.query<{ prefix: string }>('select prefix from installation')
    await client.end()
    namespaces = `shoal.dev/installation=${rows[0]?.prefix}`
    const secrets = [{ action: 'UPDATE' as const, name: 'RPC_URL', value: rpcUrl }]
    await cloud.api.secrets.change({ params: { code: cloud.org }, body: { secrets } })
  }, 600_000)

  afterAll(async () => {
    if (namespaces) await kubectl(['delete', 'namespace', '-l', namespaces, '--wait=false'])
    await cloud?.end()
    await postgres?.stop()
    for (const server of relays) server.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }, 120_000)

  test('indexes the chain in pods and answers GraphQL through the gateway', { timeout: 600_000 }, async () => {
    const deployment = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }), 500_000)
    expect(deployment, cloud.shoal.output().slice(-3000)).toMatchObject({ status: 'OK', failed: 'NO' })
    const transfers = await cloud.devnet.chain.countTransfers()
    const endpoint = cloud.endpointOf('erc20-transfers@v1')
    await until(async () => (await totalTransfers(endpoint)) === transfers, 'all transfers are indexed')
    const pods = await kubectl(['get', 'pods', '-A', '-l', namespaces, '-o', 'jsonpath={.items[*].spec.nodeName}'])
    expect(await nodeNames()).toEqual(expect.arrayContaining(pods.split(' ')))
  })
})
