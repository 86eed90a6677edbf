import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { contract, createClient } from '@shoal/contract'
import { freePort } from '../e2e/support/free-port.ts'
import { loadConfig } from '../server/src/config/config.ts'
import { ensureConsole } from './console-build.ts'
import { type Devnet, startDevnet } from './devnet/devnet.ts'
import { type DemoCluster, startDemoCluster } from './kubernetes/demo-cluster.ts'
import { closeTestCluster } from './kubernetes/test-cluster.ts'
import { openClient } from './public-client.ts'
import { root } from './root.ts'
import { serverArguments } from './server.ts'

const execute = promisify(execFile)
const email = 'demo@example.com'
const squid = 'erc20-transfers'
const query =
  '{ transfersConnection(orderBy: id_ASC) { totalCount } transfers(orderBy: id_DESC, limit: 1) { to value } }'

const { values } = parseArgs({ options: { kubernetes: { type: 'boolean', default: false } } })
const ending = new AbortController()
let server: ChildProcess | undefined
let devnet: Devnet | undefined
let startingCluster: Promise<DemoCluster> | undefined
let cluster: DemoCluster | undefined

/** Polls every 250 ms until the result is not null, and returns it. @throws after five minutes, with a message that begins with `subject` */
async function until<T>(subject: string, poll: () => Promise<T | null>): Promise<T> {
  const deadline = performance.now() + 300_000
  while (performance.now() < deadline) {
    const result = await poll().catch(() => null)
    if (result !== null) return result
    await delay(250, undefined, { signal: ending.signal })
  }
  throw new Error(`${subject} was not ready within five minutes`)
}

const isReady = async (publicUrl: string) => ((await fetch(`${publicUrl}/readyz`)).ok ? true : null)

/** Starts a server that ends with the demo, unless one is already running. */
async function ensureServer(publicUrl: string, rpcUrl: string): Promise<void> {
  if (await isReady(publicUrl).catch(() => null)) return
  await ensureConsole()
  // In a separate process group, the server does not receive Ctrl-C in addition to the demo's signal: a second signal would end it
  // before it has stopped its squids.
  server = spawn(process.execPath, serverArguments, {
    cwd: root,
    // On loopback, squids can reach only this chain.
    env: { ...process.env, SHOAL_DEVNET_URL: rpcUrl },
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  server.once('exit', (code) => ending.abort(new Error(`The server ended with code ${code}`)))
  await until('The server', () => isReady(publicUrl))
}

async function runOperatorCommand<T>(...args: string[]): Promise<T> {
  const { stdout } = await execute(process.execPath, [join(root, 'server/src/cli.ts'), ...args, '--json'], {
    cwd: root,
  })
  return JSON.parse(stdout) as T
}

/** Returns a new token of the demo user, and the password if this run created the user. */
async function signIn(): Promise<{ token: string; password: string | null }> {
  const name = `demo ${randomBytes(3).toString('hex')}`
  const newToken = () => runOperatorCommand<{ token: string }>('token', 'add', '--email', email, '--name', name)
  try {
    return { ...(await newToken()), password: null }
  } catch (error) {
    if (!(error as Error).message.includes('There is no user')) throw error
    const { password } = await runOperatorCommand<{ password: string }>(
      'user',
      'add',
      '--email',
      email,
      '--name',
      'Demo',
    )
    return { ...(await newToken()), password }
  }
}

async function playgroundOf(publicUrl: string, token: string): Promise<string> {
  const orgs = await createClient(contract, { baseUrl: `${publicUrl}/api`, token: () => token }).orgs.list()
  const playground = orgs.find((org) => org.limits.playground)
  if (!playground) throw new Error(`${email} has no playground`)
  return playground.code
}

async function deploy(publicUrl: string, token: string, org: string, rpcUrl: string): Promise<void> {
  const sqd = await openClient((text) => process.stdout.write(text))
  const runClient = async (...args: string[]) => {
    console.log(`\n$ sqd ${args.join(' ').replace(token, '<token>')}`)
    const { code } = await sqd(...args)
    if (code !== 0) throw new Error(`sqd ${args[0]} ended with code ${code}`)
  }
  try {
    await runClient('auth', '-k', token, '-h', `${publicUrl}/api`)
    await runClient('secrets', 'set', 'RPC_URL', rpcUrl, '-o', org)
    await runClient('secrets', 'set', 'HEAD_POLL_INTERVAL_MS', '1000', '-o', org)
    // The chain of an earlier demo no longer exists, so its indexed data must be deleted.
    const flags = [
      '--no-interactive',
      '--no-stream-logs',
      '--allow-update',
      '--allow-manifest-override',
      '--hard-reset',
    ]
    await runClient('deploy', join(root, 'examples', squid), '-o', org, '-s', 'demo', ...flags)
  } finally {
    sqd.close()
  }
}

type Data = { transfersConnection: { totalCount: number } }

/** Sends the query to the squid. @throws if the response has no data */
async function sendQuery(endpoint: string): Promise<Data> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify({ query }) })
  const { data } = (await response.json()) as { data?: Data }
  if (!data) throw new Error(`The squid did not respond with data: status ${response.status}`)
  return data
}

async function firstResult(endpoint: string, transfers: number): Promise<string> {
  return await until('The data of the squid', async () => {
    const data = await sendQuery(endpoint)
    return data.transfersConnection.totalCount >= transfers ? JSON.stringify(data) : null
  })
}

/** Starts a cluster, and sets the environment variables with which this process and its children use it. Returns the port for the chain. */
async function useCluster(): Promise<number> {
  const [chainPort, port, gatewayPort] = [await freePort(), await freePort(), await freePort()]
  startingCluster = startDemoCluster(chainPort)
  cluster = await startingCluster
  Object.assign(process.env, cluster.env, {
    SHOAL_PORT: `${port}`,
    SHOAL_GATEWAY_PORT: `${gatewayPort}`,
    SHOAL_GATEWAY_URL: `http://${cluster.host}:${gatewayPort}/{org}`,
  })
  return chainPort
}

/** Drains the node of the squid's api while it sends queries, and prints how many succeeded. */
async function drainUnderQueries({ drain }: DemoCluster, endpoint: string): Promise<void> {
  const counts = { succeeded: 0, failed: 0, slowestMs: 0 }
  let isDone = false
  const querying = (async () => {
    while (!isDone) {
      const startedAt = performance.now()
      await sendQuery(endpoint).then(
        () => (counts.succeeded += 1),
        () => (counts.failed += 1),
      )
      counts.slowestMs = Math.max(counts.slowestMs, performance.now() - startedAt)
    }
  })()
  try {
    const { from, to } = await drain()
    console.log(`Drained the node ${from}: the squid's api runs on ${to}.`)
  } finally {
    isDone = true
    await querying
  }
  const slowest = (counts.slowestMs / 1000).toFixed(1)
  console.log(
    `In the meantime, ${counts.succeeded} queries succeeded and ${counts.failed} failed; the slowest took ${slowest} s.`,
  )
}

async function main(): Promise<void> {
  const chainPort = values.kubernetes ? await useCluster() : null
  const { publicUrl, gatewayUrl } = loadConfig()
  // Squids of a server that `npm start` has started can reach a chain only at port 8545.
  const port = chainPort ?? ((await isReady(publicUrl).catch(() => null)) ? 8545 : 0)
  devnet = await startDevnet({ port, transfers: 100, isStreaming: true })
  await ensureServer(publicUrl, devnet.rpcUrl)
  const { token, password } = await signIn()
  const org = await playgroundOf(publicUrl, token)
  await deploy(publicUrl, token, org, cluster?.chainUrl ?? devnet.rpcUrl)
  // With a cluster, gatewayUrl has the address for pods, on which the gateway does not listen.
  const base = cluster ? `http://localhost:${process.env['SHOAL_GATEWAY_PORT']}/{org}` : gatewayUrl
  const endpoint = `${base.replace('{org}', org)}/${squid}@demo/api/graphql`
  console.log(`
Console   ${publicUrl}   sign in as ${email}, ${password ? `password ${password}` : 'with the password of the first demo'}
GraphQL   ${endpoint}
Query     ${query}
Response  ${await firstResult(endpoint, 100)}
`)
  if (cluster) await drainUnderQueries(cluster, endpoint)
  console.log(`
The chain makes a transfer a second: run the query again to see it. Ctrl-C ends the demo.`)
}

async function end(): Promise<void> {
  await devnet?.stop()
  await endServer()
  // If the cluster is still starting, this makes its start fail.
  if (startingCluster && !cluster) closeTestCluster()
  const opened = await startingCluster?.catch(() => undefined)
  for (const leftover of (await opened?.end()) ?? []) console.error(`The cluster left behind: ${leftover}`)
}

async function endServer(): Promise<void> {
  if (!server || server.exitCode !== null || server.signalCode !== null) return
  const ended = new Promise((resolve) => server?.once('exit', resolve))
  server.kill('SIGTERM')
  await ended
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ending.abort(signal))
const ended = new Promise<never>((_, reject) => {
  ending.signal.addEventListener('abort', () => reject(ending.signal.reason))
})
try {
  await Promise.race([main(), ended])
  await ended
} catch (reason) {
  await end()
  if (reason instanceof Error) console.error(`demo: ${reason.message}`)
  process.exit(reason instanceof Error ? 1 : 0)
}
