import { mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SimContainer } from './sim-container.ts'
import type { SimProgress } from './sim-progress.ts'

/** Real servers on unix sockets for simulated containers, started on first use. */
export class SimServers {
  #dir: string | null = null
  #socketCount = 0
  readonly #sockets = new Map<string, { path: string; server: Server | null }>()

  /** Returns the socket path for a port of a container. Connections are refused while the container is not running. */
  path(key: string, port: number, container: SimContainer): string {
    const name = `${key}:${port}`
    const socket = this.#sockets.get(name) ?? {
      path: join(this.#ownDir(), `${++this.#socketCount}.sock`),
      server: null,
    }
    this.#sockets.set(name, socket)
    if (container.isRunning && container.behaviour.listens !== false && !socket.server) {
      socket.server = createServer((request, response) => respond(container, request, response))
      // `listen` binds the socket before it returns.
      socket.server.listen(socket.path).unref()
    }
    return socket.path
  }

  /** Closes the servers of a container that is no longer running. */
  close(key: string): void {
    for (const [name, socket] of this.#sockets) {
      if (!name.startsWith(`${key}:`)) continue
      socket.server?.close()
      socket.server?.closeAllConnections()
      socket.server = null
    }
  }

  closeAll(): void {
    for (const { server } of this.#sockets.values()) {
      server?.close()
      server?.closeAllConnections()
    }
    this.#sockets.clear()
    if (this.#dir) rmSync(this.#dir, { recursive: true, force: true })
    this.#dir = null
  }

  #ownDir(): string {
    if (this.#dir) return this.#dir
    const dir = mkdtempSync(join(tmpdir(), 'shoal-sim-'))
    // Simulated containers do not outlive the process.
    process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
    this.#dir = dir
    return dir
  }
}

/** Responds with metrics for processors and with GraphQL for other containers. */
function respond(container: SimContainer, request: IncomingMessage, response: ServerResponse): void {
  const progress = container.progress()
  const path = request.url?.split('?')[0]
  const { response: fixed } = container.behaviour
  if (fixed) response.writeHead(fixed.status).end(fixed.text)
  else if (progress && path === '/metrics' && request.method === 'GET') {
    response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8').end(metricsText(progress))
  } else if (!progress && path === '/graphql' && request.method === 'POST') {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json').end('{"data":{"__typename":"Query"}}')
    })
  } else {
    response.writeHead(404).end()
  }
}

/** Returns metrics in the format of the SDK. */
function metricsText({ lastBlock, headBlock, blocksPerSecond, rpcResponses }: SimProgress): string {
  const blocksLeft = headBlock - lastBlock
  const gauges = {
    sqd_processor_last_block: lastBlock,
    sqd_processor_chain_height: headBlock,
    sqd_processor_mapping_blocks_per_second: blocksPerSecond,
    sqd_processor_sync_eta_seconds: blocksPerSecond > 0 ? Math.ceil(blocksLeft / blocksPerSecond) : 0,
    sqd_processor_sync_ratio: headBlock > 0 ? lastBlock / headBlock : 0,
  }
  const rpcMetrics =
    rpcResponses === undefined
      ? ''
      : `sqd_rpc_request_count{url="http://node.example",kind="success"} ${rpcResponses}\n`
  const gaugeLines = Object.entries(gauges).map(([name, value]) => `# TYPE ${name} gauge\n${name} ${value}\n`)
  return gaugeLines.join('') + rpcMetrics
}
