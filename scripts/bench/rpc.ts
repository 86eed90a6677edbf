import { Pool } from 'undici'
import { startShoal } from '../../e2e/support/shoal.ts'
import { startDevnet, type Devnet } from '../devnet/devnet.ts'
import { atLeast, atMost, median, type Bench } from './support/result.ts'

const rounds = 5
const seconds = 2
const connections = 16
/** How many of the newest blocks the calls request. These blocks are not final, so the gateway does not cache their data. */
const newestBlocks = 60
/** The interval at which the gateway polls the node of the chain `devnet`. */
const devnetPollMs = 500

/** Returns the method and parameters of the next call. */
type NextCall = () => { method: string; params: unknown[] }

async function call(pool: Pool, path: string, nextCall: NextCall): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, ...nextCall() })
  const { statusCode, body } = await pool.request({ path, method: 'POST', headers, body: text })
  const response = Buffer.from(await body.arrayBuffer())
  if (statusCode !== 200 || response.includes('"error"'))
    throw new Error(`${statusCode}: ${response.toString().slice(0, 500)}`)
}

/** Returns the requests per second over 16 connections. Each sends its next request after the response to the last one. */
async function requestsPerSecond(url: string, nextCall: NextCall): Promise<number> {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, { connections, pipelining: 1 })
  const startedAt = performance.now()
  let responses = 0
  const keepCalling = async () => {
    for (; performance.now() - startedAt < seconds * 1000; responses++) await call(pool, pathname, nextCall)
  }
  await Promise.all(Array.from({ length: connections }, keepCalling))
  const rate = responses / ((performance.now() - startedAt) / 1000)
  await pool.close()
  return rate
}

/** Returns the median latency in milliseconds with one call at a time. */
async function medianLatencyMs(url: string, nextCall: NextCall): Promise<number> {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, { connections: 1, pipelining: 1 })
  const measured: number[] = []
  for (let i = 0; i < 500; i++) {
    const startedAt = performance.now()
    await call(pool, pathname, nextCall)
    measured.push(performance.now() - startedAt)
  }
  await pool.close()
  return median(measured)
}

/** Returns the median ratio of the request rate through the gateway to the direct rate. */
async function rateRatio(url: string, direct: string, nextCall: NextCall): Promise<number> {
  const ratios: number[] = []
  // Warm-up: the first requests trigger compilation and fill the cache.
  for (const target of [url, direct]) await requestsPerSecond(target, nextCall)
  for (let round = 0; round < rounds; round++) {
    const through = await requestsPerSecond(url, nextCall)
    ratios.push(through / (await requestsPerSecond(direct, nextCall)))
  }
  return median(ratios)
}

type Message = { id?: number; params?: { subscription: string; result: { number: string } } }

/** Opens a WebSocket. `callOnSocket` sends a call and waits for its response; make only one call at a time. Passes the height of each block in a notification to `onBlock`. */
async function openSocket(url: string, onBlock: (height: number) => void = () => {}) {
  const socket = new WebSocket(url.replace(/^http/, 'ws'))
  let onResponse: (text: string) => void = () => {}
  socket.addEventListener('message', ({ data }) => {
    const text = String(data)
    const { params } = JSON.parse(text) as Message
    if (params) onBlock(Number(params.result.number))
    else onResponse(text)
  })
  await new Promise((done, failed) => {
    socket.addEventListener('open', done)
    socket.addEventListener('error', failed)
  })
  const callOnSocket = async (call: ReturnType<NextCall>) => {
    const response = new Promise<string>((done) => (onResponse = done))
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }))
    const text = await response
    if (text.includes('"error"')) throw new Error(text.slice(0, 500))
  }
  return { callOnSocket, close: () => socket.close() }
}

/** Returns the median latency in milliseconds with one call at a time over one WebSocket. */
async function medianSocketLatencyMs(url: string, nextCall: NextCall): Promise<number> {
  const { callOnSocket, close } = await openSocket(url)
  const measured: number[] = []
  for (let i = 0; i < 500; i++) {
    const startedAt = performance.now()
    await callOnSocket(nextCall())
    measured.push(performance.now() - startedAt)
  }
  close()
  return median(measured)
}

/** Returns the median time in milliseconds between the request that mines a block and the notification of that block, `through` the gateway and `direct` from anvil. */
async function medianDelaysMs(url: string, devnet: Devnet): Promise<{ through: number; direct: number }> {
  const delays = { through: [] as number[], direct: [] as number[] }
  const minedAt = new Map<number, number>()
  const record = (delaysMs: number[]) => (height: number) =>
    delaysMs.push(performance.now() - (minedAt.get(height) ?? NaN))
  const through = await openSocket(url, record(delays.through))
  const direct = await openSocket(devnet.rpcUrl, record(delays.direct))
  for (const { callOnSocket } of [through, direct])
    await callOnSocket({ method: 'eth_subscribe', params: ['newHeads'] })
  let height = await devnet.chain.height()
  for (let i = 0; i < 30; i++) {
    minedAt.set(height + 1, performance.now())
    await devnet.chain.transfer(1)
    height++
    // A random delay prevents blocks from being in phase with the gateway's polls.
    await new Promise((done) => setTimeout(done, 400 + Math.random() * 400))
  }
  for (const deadline = performance.now() + 5_000; delays.through.length < 30 && performance.now() < deadline;)
    await new Promise((done) => setTimeout(done, 20))
  for (const { close } of [through, direct]) close()
  if (delays.through.length < 30 || delays.direct.length < 30)
    throw new Error('Notifications of new blocks are missing')
  return { through: median(delays.through), direct: median(delays.direct) }
}

const hex = (n: number) => `0x${n.toString(16)}`

/** Returns the kinds of calls to measure: to the newest blocks, to final blocks, and the smallest possible calls. */
async function callsOf(devnet: Devnet): Promise<Record<'newest' | 'final' | 'smallest', NextCall>> {
  const height = await devnet.chain.height()
  let count = 0
  /** Returns a function that returns the next call of a squid that indexes blocks from `lowest`. */
  const indexFrom = (lowest: number): NextCall => {
    let calls = 0
    return () => {
      const block = hex(lowest + (Math.floor(calls / 3) % newestBlocks))
      const kind = calls++ % 3
      if (kind === 0) return { method: 'eth_getBlockByNumber', params: [block, true] }
      if (kind === 1) return { method: 'eth_getBlockReceipts', params: [block] }
      return { method: 'eth_getLogs', params: [{ fromBlock: block, toBlock: block }] }
    }
  }
  return {
    newest: indexFrom(height - newestBlocks + 1),
    final: indexFrom(2),
    smallest: () => ({ method: 'eth_getBalance', params: [`0x${(count++).toString(16).padStart(40, '0')}`, 'latest'] }),
  }
}

export const bench: Bench = {
  name: 'rpc',
  async *run() {
    // Anvil reports blocks 64 below its head as final; each block has 20 transfers.
    await using devnet = await startDevnet({ transfers: 3000 })
    const shoal = await startShoal({ SHOAL_DEVNET_URL: devnet.rpcUrl, SHOAL_RPC_RATE: '1000000' })
    try {
      const email = 'bench@example.com'
      await shoal.cli('user', 'add', '--email', email, '--name', 'Bench')
      await shoal.cli('org', 'add', '--code', 'bench', '--name', 'Bench', '--email', email)
      await shoal.cli('org', 'set-status', '--code', 'bench', '--status', 'ACTIVE')
      const { token: key } = await shoal.cli<{ token: string }>(
        'token',
        'add',
        '--email',
        email,
        '--name',
        'bench',
        '--scope',
        'admin',
      )
      const { token } = await shoal.as(key).rpc.getToken({ params: { code: 'bench' } })
      const url = `${shoal.gatewayUrl}/rpc/devnet/${token}`
      const { newest, final, smallest } = await callsOf(devnet)
      yield atLeast(0.7, 'rpc, newest blocks relative to direct', await rateRatio(url, devnet.rpcUrl, newest), 'ratio')
      yield atLeast(
        3,
        'rpc, final blocks (cached) relative to direct',
        await rateRatio(url, devnet.rpcUrl, final),
        'ratio',
      )
      yield atLeast(
        0.25,
        'rpc, smallest calls relative to direct',
        await rateRatio(url, devnet.rpcUrl, smallest),
        'ratio',
      )
      const [through, direct] = [await medianLatencyMs(url, smallest), await medianLatencyMs(devnet.rpcUrl, smallest)]
      yield atMost(1, 'rpc, added median latency', through - direct, 'ms')
      const overSocket = await medianSocketLatencyMs(url, smallest)
      yield atMost(1.2, 'rpc, median latency of WebSocket relative to HTTP', overSocket / through, 'ratio')
      const delays = await medianDelaysMs(url, devnet)
      const added = (delays.through - delays.direct) / devnetPollMs
      yield atMost(1, 'rpc, added median delay of newHeads relative to the poll interval', added, 'ratio')
    } finally {
      await shoal.end()
    }
  },
}
