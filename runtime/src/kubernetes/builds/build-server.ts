import { createHash, randomBytes } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ConcurrencyLimit } from '../../concurrency.ts'
import type { BuildAction } from './build-actions.ts'

/**
 * What one container of a build may request; each request is permitted once. The container runs the squid's code, so nothing that it
 * sends is trusted.
 */
export type BuildContainer = {
  actions: BuildAction[]
  /** Opens the archive of this name for the container; null: there is none. */
  open: (name: string) => Readable | null
  /**
   * Returns the function that receives the archive of this name; null: the container may not send it. The function rejects if the
   * archive is invalid.
   */
  receive: (name: string) => ((archive: Readable) => Promise<void>) | null
  /** Reads the events to their end. Resolves with true if the container has performed all of its actions. */
  readEvents: (events: Readable) => Promise<boolean>
}

/** `used`: the requests that the container has made, such as `GET actions`. `requests`: those that have not ended yet. */
type Entry = { container: BuildContainer; used: Set<string>; requests: Set<IncomingMessage> }

/** Maximum number of connections from one address. A container needs two at a time: for its events and an archive. */
const MAX_CONNECTIONS = 16
/** A client that sends no complete headers in this time is disconnected. */
const HEADERS_TIMEOUT_MS = 15_000

/**
 * Serves the containers of builds: `GET actions`, `GET` and `PUT` of archives, and `POST events`, each once per token. A container ends
 * when its connection ends, so builds end with this process.
 */
export class BuildServer {
  readonly #entries = new Map<string, Entry>()
  readonly #server: Server
  /** Limits the connections of each address. */
  readonly #connections = new ConcurrencyLimit(MAX_CONNECTIONS)

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => this.#limitConnections(socket))
    // The request `events` lasts as long as its build.
    server.requestTimeout = 0
    server.headersTimeout = HEADERS_TIMEOUT_MS
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch(() => request.destroy())
    })
    // A worker that ends does not wait for builds.
    server.unref()
  }

  /** Listens at `host:port`; port 0: any free one. @throws Error if the address cannot be used */
  static async listen(host: string, port: number): Promise<BuildServer> {
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, resolve)
    })
    return new BuildServer(server)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Admits a container. Returns its token, and a function that revokes it and ends its requests. */
  admit(container: BuildContainer): { token: string; revoke: () => void } {
    const token = randomBytes(32).toString('base64url')
    const key = hash(token)
    const entry: Entry = { container, used: new Set(), requests: new Set() }
    this.#entries.set(key, entry)
    const revoke = () => {
      this.#entries.delete(key)
      for (const request of entry.requests) request.destroy()
    }
    return { token, revoke }
  }

  async close(): Promise<void> {
    await new Promise((resolve) => {
      this.#server.close(resolve)
      this.#server.closeAllConnections()
    })
  }

  #limitConnections(socket: Socket): void {
    const end = this.#connections.admit(socket.remoteAddress ?? '')
    if (end === null) socket.destroy()
    else socket.once('close', end)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, token = ''] = /^Bearer (\S{1,100})$/.exec(request.headers.authorization ?? '') ?? []
    const entry = this.#entries.get(hash(token))
    if (entry === undefined) return refuse(response, 401)
    const { method = '' } = request
    const name = (request.url ?? '').split('/').at(-1) ?? ''
    const use = `${method} ${name}`
    if (entry.used.has(use)) return refuse(response, 409)
    const handler = handlerOf(entry.container, method, name, request, response)
    if (handler === null) return refuse(response, 404)
    entry.used.add(use)
    entry.requests.add(request)
    try {
      await handler()
    } finally {
      entry.requests.delete(request)
    }
  }
}

function handlerOf(
  container: BuildContainer,
  method: string,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
): (() => Promise<void>) | null {
  if (method === 'GET' && name === 'actions')
    return async () => void response.writeHead(200).end(JSON.stringify(container.actions))
  if (method === 'POST' && name === 'events')
    return async () => {
      const isComplete = await container.readEvents(request)
      response.writeHead(isComplete ? 200 : 409).end()
    }
  if (method === 'GET') {
    const archive = container.open(name)
    return archive && (() => pipeline(archive, response.writeHead(200)))
  }
  const receive = method === 'PUT' ? container.receive(name) : null
  if (receive === null) return null
  return async () => {
    await receive(request)
    response.writeHead(200).end()
  }
}

function refuse(response: ServerResponse, status: number): void {
  // The body of a refused request is not read.
  response.shouldKeepAlive = false
  response.writeHead(status).end()
}

/** Tokens are looked up by their hash, so that the time of a lookup reveals nothing about them. */
const hash = (token: string): string => createHash('sha256').update(token).digest('base64url')
