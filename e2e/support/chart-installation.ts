import { contract, createClient, type Client as ApiClient, type Contract } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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
import { buildTool, helm as helmTool } from '../../scripts/kubernetes/go-tool.ts'
import { runHelm } from './chart.ts'
import { relayTo } from './cluster-cloud.ts'
import { blocksOf } from './install-pages.ts'
import { kubectl } from './kubernetes.ts'
import { addOrg, type Org } from './org.ts'
import { repositoryRoot, splitInput, type CliArguments } from './shoal.ts'

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
  /** Runs commands of docs/install/kubernetes.md with the files of this installation, and returns their output. @throws with the output and the state of the pods if a command fails */
  runBlock: (commands: string) => Promise<string>
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
  const namespace = `shoal-chart-${randomBytes(4).toString('hex')}`
  const folder = mkdtempSync(join(tmpdir(), 'chart-'))
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }))
  const runBlock = await pageShell(folder, namespace)
  const [pushed, postgres, s3, devnet, packages] = await Promise.all([
    runBlock(chartBlocks('image')[0] ?? ''),
    startExternalPostgres(),
    startS3Server(),
    startDevnet({ transfers: 25, isStreaming: false }),
    startPackageRegistry(),
  ])
  for (const end of [() => postgres.stop(), () => s3.end(), () => devnet.stop(), () => packages.end()])
    cleanup.defer(end)
  const rpcUrl = (await reachableUrl(devnet.rpcUrl)).replace(/\/$/, '')
  const databaseUrl = await reachableUrl(postgres.url('shoal'))
  const secret = {
    DATABASE_URL: databaseUrl,
    SHOAL_SQUIDS_DATABASE_URL: databaseUrl.replace(/\/shoal$/, '/postgres'),
    SHOAL_S3_ACCESS_KEY: s3.settings.SHOAL_S3_ACCESS_KEY,
    SHOAL_S3_SECRET_KEY: s3.settings.SHOAL_S3_SECRET_KEY,
  }
  const values = {
    image: pushed.trim().split('\n').at(-1),
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
  writeFileSync(join(folder, 'values.yaml'), JSON.stringify(values))
  writeFileSync(
    join(folder, 'shoal.env'),
    Object.entries(secret)
      .map((entry) => `${entry.join('=')}\n`)
      .join(''),
  )
  for (const name of [namespace, `${namespace}-collector`])
    cleanup.defer(async () => void (await kubectl(['delete', 'namespace', name, '--wait=false', '--ignore-not-found'])))
  const helm = async (command: string, ...args: string[]) => {
    const env = { KUBECONFIG: process.env['SHOAL_TEST_KUBECONFIG'] ?? '', HOME: folder }
    const { code, output } = await runHelm([command, 'shoal', ...args, '--namespace', namespace], env)
    if (code !== 0) throw new Error(`helm ${command}: ${output}\n${await describePods(namespace)}`)
    return output
  }
  cleanup.defer(async () => void (await helm('uninstall', '--ignore-not-found')))
  for (const commands of installBlocks) await runBlock(commands)
  const cli = async <T>(...args: CliArguments): Promise<T> => {
    const { words, input } = splitInput(args)
    const program = ['deploy/shoal-api', '--', 'node', 'server/src/cli.ts', ...words, '--json']
    const output = await kubectl(['exec', '-i', '-n', namespace, ...program], input)
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
    values: ['-f', join(folder, 'values.yaml')],
    runBlock,
    selector,
    end,
  }
}

/** Returns the commands of the blocks of this kind in docs/install/kubernetes.md. */
const chartBlocks = (blockKind: string): string[] =>
  blocksOf('kubernetes.md').flatMap(({ kind, commands }) => (kind === blockKind ? [commands] : []))

const clusterBlocks = chartBlocks('cluster')
const installEnd = clusterBlocks.findIndex((commands) => commands.includes('helm install')) + 1
const installBlocks = clusterBlocks.slice(0, installEnd)
/** The commands that follow the installation on the page. */
export const laterBlocks = clusterBlocks.slice(installEnd)

/** Returns a function that runs commands of the page in a folder that resembles a clone of the repository, in namespaces of this installation. */
async function pageShell(folder: string, namespace: string): Promise<(commands: string) => Promise<string>> {
  const programs = join(folder, 'bin')
  mkdirSync(programs)
  for (const name of ['deploy', 'package.json', 'scripts']) symlinkSync(join(repositoryRoot, name), join(folder, name))
  symlinkSync(await buildTool(helmTool), join(programs, 'helm'))
  const program = process.env['SHOAL_TEST_KUBECTL'] ?? 'kubectl'
  writeFileSync(join(programs, 'kubectl'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 })
  const env = {
    ...process.env,
    KUBECONFIG: process.env['SHOAL_TEST_KUBECONFIG'],
    PATH: `${programs}:${process.env['PATH'] ?? ''}`,
  }
  return async (commands) => {
    const adapted = commands
      .replaceAll(/(-n|namespace) shoal(?![\w/])/g, `$1 ${namespace}`)
      .replaceAll('registry.example.com', `http://${registry}/chart`)
    const { code, output } = await runCommand('sh', ['-ec', adapted], { cwd: folder, env })
    if (code !== 0) throw new Error(`${adapted}\n${output}\n${await describePods(namespace)}`)
    return output
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
