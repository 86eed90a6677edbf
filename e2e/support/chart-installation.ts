import { contract, createClient, type Client as ApiClient, type Contract } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Client } from 'pg'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { runCommand } from '../../scripts/command.ts'
import { startExternalPostgres } from '../../scripts/external-postgres.ts'
import { startS3Server } from '../../scripts/s3-server.ts'
import { pushServerImage } from '../../scripts/server-image.ts'
import { chart, runHelm } from './chart.ts'
import { relayTo } from './cluster-cloud.ts'
import { applyObjects, kubectl } from './kubernetes.ts'
import { addOrg, type Org } from './org.ts'

const host = process.env['SHOAL_TEST_HOST_ADDRESS'] ?? ''
const registry = process.env['SHOAL_TEST_REGISTRY'] ?? ''

/** A Shoal that the chart has installed in the cluster, with Postgres, S3, a chain and an npm registry on this host. */
export type ChartInstallation = {
  namespace: string
  /** The URL of the Service of the api, on a port of a node. */
  url: string
  /** The URL of the Service of the gateways, on a port of a node. */
  gatewayUrl: string
  devnet: Devnet
  org: Org
  /** The URL of the chain for squids. */
  rpcUrl: string
  as: (token: string) => ApiClient<Contract>
  /** Runs `helm <command> shoal …` and returns its output. @throws with its output and the state of the pods if it fails */
  helm: (command: string, ...args: string[]) => Promise<string>
  /** Arguments of `helm install` and `helm upgrade` with the settings of this installation. */
  values: string[]
  /** The label selector for the namespaces of this installation's squids. */
  selector: string
  end: () => Promise<void>
}

/** Installs the chart of this repository in a new namespace. `end` removes everything. */
export async function installChart(): Promise<ChartInstallation> {
  await using cleanup = new AsyncDisposableStack()
  const relay = async (port: number) => {
    const opened = await relayTo(port)
    cleanup.defer(() => void opened.server.close())
    return opened.port
  }
  /** Returns a URL at which pods reach a service that listens only on loopback. */
  const reachableUrl = async (url: string) => {
    const address = new URL(url)
    address.port = String(await relay(Number(address.port)))
    address.hostname = host
    return address.href
  }
  const [{ image }, postgres, s3, devnet, packages] = await Promise.all([
    pushServerImage(`http://${registry}/chart/server`, { authFile: null, baseImage: null }),
    startExternalPostgres(),
    startS3Server(),
    startDevnet({ transfers: 25, isStreaming: false }),
    startPackageRegistry(),
  ])
  for (const end of [() => postgres.stop(), () => s3.end(), () => devnet.stop(), () => packages.end()])
    cleanup.defer(end)
  const namespace = `shoal-chart-${randomBytes(4).toString('hex')}`
  const folder = mkdtempSync(join(tmpdir(), 'chart-'))
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }))
  const rpcUrl = (await reachableUrl(devnet.rpcUrl)).replace(/\/$/, '')
  const databaseUrl = await reachableUrl(postgres.url('shoal'))
  const secret = {
    DATABASE_URL: databaseUrl,
    SHOAL_SQUIDS_DATABASE_URL: databaseUrl.replace(/\/shoal$/, '/postgres'),
    SHOAL_SECRETS_KEY: randomBytes(32).toString('base64'),
    SHOAL_S3_ACCESS_KEY: s3.settings.SHOAL_S3_ACCESS_KEY,
    SHOAL_S3_SECRET_KEY: s3.settings.SHOAL_S3_SECRET_KEY,
  }
  const values = {
    image,
    publicUrl: 'http://shoal.example.com',
    gatewayUrl: 'http://squids.example.com/{org}',
    existingSecret: 'shoal',
    registry: { address: `http://${registry}/chart-${randomBytes(4).toString('hex')}` },
    s3: {
      bucket: s3.settings.SHOAL_S3_BUCKET,
      endpoint: (await reachableUrl(s3.settings.SHOAL_S3_ENDPOINT)).replace(/\/$/, ''),
    },
    settings: { SHOAL_NETWORK_ALLOW: new URL(rpcUrl).host, npm_config_registry: packages.url },
    squids: { cpuRatio: 0.1 },
    // The test cluster has no metrics server, no storage and no DNS.
    api: { service: { type: 'NodePort' }, resources: { requests: { cpu: '50m', memory: '256Mi' } } },
    gateway: {
      service: { type: 'NodePort' },
      autoscaling: { enabled: false },
      resources: { requests: { cpu: '50m', memory: '256Mi' } },
    },
    worker: { data: { persistent: false }, resources: { requests: { cpu: '50m', memory: '512Mi' } } },
    collector: { enabled: false },
  }
  writeFileSync(join(folder, 'values.json'), JSON.stringify(values))
  await applyObjects(
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'shoal', namespace }, stringData: secret },
  )
  cleanup.defer(async () => void (await kubectl(['delete', 'namespace', namespace, '--wait=false'])))
  const helm = async (command: string, ...args: string[]) => {
    const env = { KUBECONFIG: process.env['SHOAL_TEST_KUBECONFIG'] ?? '', HOME: folder }
    const { code, output } = await runHelm([command, 'shoal', ...args, '--namespace', namespace], env)
    if (code !== 0) throw new Error(`helm ${command}: ${output}\n${await describePods(namespace)}`)
    return output
  }
  const valueArgs = ['-f', join(folder, 'values.json')]
  cleanup.defer(async () => void (await helm('uninstall', '--ignore-not-found')))
  await helm('install', chart, ...valueArgs, '--wait', '--timeout', '8m')
  const cli = async <T>(...args: string[]): Promise<T> => {
    const command = ['exec', '-n', namespace, 'deploy/shoal-api', '--', 'node', 'server/src/cli.ts', ...args, '--json']
    const output = await kubectl(command)
    // The command prints its result after its log.
    return JSON.parse(output.split('\n').at(-1) ?? '') as T
  }
  const url = await nodeUrl(namespace, 'shoal-api')
  const as = (token: string) => createClient(contract, { baseUrl: `${url}/api`, token: () => token })
  const org = await addOrg({ cli, as }, 'acme-labs')
  const client = new Client(postgres.url('shoal'))
  await client.connect()
  const { rows } = await client.query<{ prefix: string }>('select prefix from installation')
  await client.end()
  const selector = `shoal.dev/installation=${rows[0]?.prefix}`
  cleanup.defer(async () => void (await kubectl(['delete', 'namespace', '-l', selector, '--wait=false'])))
  const stack = cleanup.move()
  const end = () => stack.disposeAsync()
  return {
    namespace,
    url,
    gatewayUrl: await nodeUrl(namespace, 'shoal-gateway'),
    devnet,
    org,
    rpcUrl,
    as,
    helm,
    values: valueArgs,
    selector,
    end,
  }
}

/** Returns the URL of a Service of the type NodePort on the first node. */
async function nodeUrl(namespace: string, service: string): Promise<string> {
  const port = await kubectl(['get', 'service', '-n', namespace, service, '-o', 'jsonpath={.spec.ports[0].nodePort}'])
  const path = 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}'
  return `http://${await kubectl(['get', 'nodes', '-o', path])}:${port}`
}

async function describePods(namespace: string): Promise<string> {
  const events = await kubectl(['get', 'pods,events', '-n', namespace])
  const roles = ['api', 'gateway', 'worker']
  const logs = roles.map((role) =>
    kubectl(['logs', '-n', namespace, '--tail=15', `deploy/shoal-${role}`]).catch(String),
  )
  return [events, ...(await Promise.all(logs))].join('\n')
}

/** Starts a server that forwards requests of pods to the npm registry that this host uses, which pods cannot reach. */
async function startPackageRegistry(): Promise<{ url: string; end: () => Promise<void> }> {
  const { output } = await runCommand('npm', ['config', 'get', 'registry', '--loglevel=error'])
  const upstream = output.trim().split('\n').at(-1) ?? ''
  const server = createServer((req, res) => {
    void (async () => {
      const response = await fetch(new URL((req.url ?? '/').slice(1), upstream))
      const type = response.headers.get('content-type') ?? 'application/octet-stream'
      res.writeHead(response.status, { 'content-type': type })
      if (response.body) Readable.fromWeb(response.body as never).pipe(res)
      else res.end()
    })().catch(() => res.writeHead(502).end())
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  const end = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://${host}:${port}/`, end }
}
