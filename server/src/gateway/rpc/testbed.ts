import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import type { App } from '../../app.ts'
import { fakeClock } from '../../clock.ts'
import { loadConfig } from '../../config/config.ts'
import { createSealer } from '../../sealing/sealer.ts'
import { createFactories, type Make } from '../../testing/make.ts'
import { cloneDatabase } from '../../testing/test-database.ts'
import { createRpcRoute, type RpcRoute } from './index.ts'
import type { SocketLimits } from './sockets/limits.ts'

/** Test fixtures for RPC: a gateway with only the RPC route, and a proxy that injects faults into the responses of a real node. */

type Disposable = { close: () => Promise<void> }

async function serve(
  handle: (req: IncomingMessage, res: ServerResponse) => void,
  upgrade?: (req: IncomingMessage, socket: Duplex, head: Buffer) => void,
): Promise<{ url: string } & Disposable> {
  const server = createServer(handle)
  if (upgrade) server.on('upgrade', upgrade)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A server with only the RPC route. */
export type TestGateway = {
  urlOf: (chain: string, token: string) => string
  route: () => RpcRoute
  /** Replaces the route as a graceful restart of the process would; the address stays the same. */
  restart: () => Promise<void>
} & Disposable

/** Starts the server on a free port. */
export async function startTestGateway(app: App, limits: Partial<SocketLimits> = {}): Promise<TestGateway> {
  let route: RpcRoute = createRpcRoute(app, limits)
  const targetOf = (req: IncomingMessage) => {
    const [, , chain = '', token = ''] = (req.url ?? '').split('/')
    return [chain, token] as const
  }
  const server = await serve(
    (req, res) => void route.handle(req, res, ...targetOf(req)),
    (req, socket, head) => {
      socket.on('error', () => socket.destroy())
      void route.upgrade({ req, socket, head }, ...targetOf(req))
    },
  )
  return {
    route: () => route,
    restart: async () => {
      await route.close()
      route = createRpcRoute(app, limits)
    },
    urlOf: (chain, token) => `${server.url}/rpc/${chain}/${token}`,
    close: async () => {
      await route.closeSockets()
      await server.close()
      await route.close()
    },
  }
}

/** A gateway with only the RPC route, and its own database. */
export type RpcTestbed = {
  app: App
  make: Make
  clock: ReturnType<typeof fakeClock>
  gateway: TestGateway
} & Disposable

/**
 * Starts a gateway with its own database and without the API: tests create organizations and tokens with functions of
 * the modules.
 */
export async function startRpcTestbed(
  env: Record<string, string> = {},
  rpcConfig: Record<string, unknown> = {},
  limits: Partial<SocketLimits> = {},
): Promise<RpcTestbed> {
  const cleanup = new AsyncDisposableStack()
  const dataDir = mkdtempSync(join(tmpdir(), 'shoal-test-'))
  cleanup.defer(() => rmSync(dataDir, { recursive: true, force: true }))
  const database = await cloneDatabase()
  cleanup.defer(database.close)
  const clock = fakeClock()
  const configFile = join(dataDir, 'rpc.json')
  writeFileSync(configFile, JSON.stringify({ chains: rpcConfig }))
  const app = {
    config: loadConfig({ SHOAL_RPC_CONFIG: configFile, ...env, SHOAL_DATA_DIR: dataDir, SHOAL_LOG_LEVEL: 'silent' }),
    clock,
    log: pino({ level: 'silent' }),
    database,
    db: database.db,
    sealer: createSealer({ dataDir }),
  } as unknown as App
  const gateway = await startTestGateway(app, limits)
  cleanup.defer(gateway.close)
  return { app, make: createFactories(app), clock, gateway, close: () => cleanup.disposeAsync() }
}

type Call = { id: unknown; method: string; params: unknown[] }
/** Returns the fault to inject for a call: null forwards the call, `delayMs` forwards it later, `down` breaks the connection. */
export type NodeFault = (call: Call) => 'down' | { result: unknown } | { error: unknown } | { delayMs: number } | null

/** A proxy that injects faults into the responses of a real node. */
export type FaultyNode = {
  url: string
  /** URL of the real node. */
  target: string
  /** Fault to inject from now on; null for none. */
  fault: NodeFault | null
  /** Every call received, in order. */
  calls: Call[]
  /** Responds to a batch with a single error, as some nodes do. */
  rejectsBatches: boolean
} & Disposable

/** Starts a proxy in front of a real node. */
export async function startFaultyNode(target: string): Promise<FaultyNode> {
  const handle = async (req: IncomingMessage, res: ServerResponse) => {
    const parts: Buffer[] = []
    for await (const part of req as AsyncIterable<Buffer>) parts.push(part)
    const body = JSON.parse(Buffer.concat(parts).toString()) as Call | Call[]
    const calls = node.rejectsBatches && Array.isArray(body) ? [] : [body].flat()
    node.calls.push(...calls)
    const outcomes = []
    for (const call of calls) {
      const fault = node.fault?.(call) ?? null
      if (fault === 'down') throw new Error('Injected fault: down')
      if (fault && 'delayMs' in fault) await sleep(fault.delayMs)
      outcomes.push(
        fault && !('delayMs' in fault) ? { jsonrpc: '2.0', id: call.id, ...fault } : await forward(node.target, call),
      )
    }
    const error = { code: -32600, message: 'batches are not supported' }
    const batchError = { jsonrpc: '2.0', id: null, error }
    const text = JSON.stringify(calls.length === 0 ? batchError : Array.isArray(body) ? outcomes : outcomes[0])
    if (!res.destroyed) res.writeHead(200, { 'content-type': 'application/json' }).end(text)
  }
  const server = await serve((req, res) => void handle(req, res).catch(() => req.socket.destroy()))
  const node: FaultyNode = {
    url: server.url,
    target,
    fault: null,
    calls: [],
    rejectsBatches: false,
    close: server.close,
  }
  return node
}

async function forward(target: string, call: Call): Promise<unknown> {
  const response = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  })
  return response.json()
}

/** One response. The array of responses to a batch is cast to this type, too. */
export type NodeReply = { id?: unknown; result?: unknown; error?: { code: number; message: string; data?: unknown } }

/** Posts one call or a batch; returns status and parsed body. */
export async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as NodeReply, text }
}

/** Returns a JSON-RPC call. */
export const call = (method: string, params: unknown[] = [], id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
