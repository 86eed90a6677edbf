import { createHash, timingSafeEqual } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { type OtlpLine, parseOtlp } from './otlp.ts'

export type LogListenerOptions = {
  host: string
  /** 0 selects a free port. */
  port: number
  /** The bearer token that collectors send. */
  token: string
}

/** The lines of a request. `accept` and `refuse` send its response. */
export type SentLines = { lines: OtlpLine[]; accept: () => void; refuse: () => void }

const MAX_BODY_BYTES = 8 * 1024 * 1024
const MAX_TEXT_BYTES = 64 * 1024 * 1024
/** Maximum number of requests whose lines are in memory. Further requests are rejected, so the collectors keep their lines. */
const MAX_REQUESTS = 8
const TIMEOUT_MS = 30_000

/**
 * Receives lines from collectors: `POST /v1/logs`, OTLP in JSON. A request succeeds only when its lines are stored;
 * otherwise collectors send it again.
 */
export class LogListener {
  readonly #server: Server
  readonly #tokenHash: Buffer
  readonly #options: LogListenerOptions
  /** Receives the lines of requests; null while no reader of this process stores lines. */
  #receiver: ((sent: SentLines) => void) | null = null
  #requests = 0

  constructor(options: LogListenerOptions) {
    this.#options = options
    this.#tokenHash = hash(options.token)
    this.#server = createServer({ requestTimeout: TIMEOUT_MS }, (request, response) => {
      // A client that ends the connection sends its lines again.
      this.#receive(request, response).catch(() => request.destroy())
    })
  }

  /** @throws Error if the address cannot be used */
  async start(): Promise<void> {
    const { host, port } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, resolve)
    })
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address ? address.port : 0
  }

  /** Passes the lines of all requests to `receiver`, until the returned function is called or another receiver is set. */
  forward(receiver: (sent: SentLines) => void): () => void {
    this.#receiver = receiver
    return () => {
      if (this.#receiver === receiver) this.#receiver = null
    }
  }

  async close(): Promise<void> {
    this.#receiver = null
    if (!this.#server.listening) return
    await new Promise((resolve) => {
      this.#server.close(resolve)
      this.#server.closeAllConnections()
    })
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = this.#refusalOf(request)
    if (refusal) return respond(response, ...refusal)
    this.#requests++
    try {
      const body = await readBody(request)
      if (body === null) return respond(response, 413, 'The request is too large')
      const lines = await linesOf(request, body)
      if (lines === null) return respond(response, 400, 'The body is not valid')
      const isStored = await new Promise<boolean>((resolve) => {
        // The reader may have ended while the body arrived.
        if (!this.#receiver) resolve(false)
        else this.#receiver({ lines, accept: () => resolve(true), refuse: () => resolve(false) })
      })
      if (isStored) respond(response, 200, null)
      else respond(response, 503, 'The lines were not stored')
    } finally {
      this.#requests--
    }
  }

  #refusalOf({ method, url, headers }: IncomingMessage): [status: number, message: string] | null {
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
    if (!timingSafeEqual(hash(token), this.#tokenHash)) return [401, 'The token is not valid']
    if (url !== '/v1/logs') return [404, 'There is no such page']
    if (method !== 'POST') return [405, 'Use POST']
    if (!/^application\/json\b/.test(headers['content-type'] ?? '')) return [415, 'Set `encoding: json`']
    if (!['gzip', 'identity', undefined].includes(headers['content-encoding']))
      return [415, 'Use gzip or no compression']
    if (!this.#receiver) return [503, 'This process does not store logs']
    return this.#requests >= MAX_REQUESTS ? [503, 'Too many requests'] : null
  }
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

function respond(response: ServerResponse, status: number, message: string | null): void {
  const headers = { 'content-type': 'application/json', ...(status === 503 ? { 'retry-after': '1' } : {}) }
  // Closes the connection, since the rest of a refused body is not read.
  if (status >= 400) response.shouldKeepAlive = false
  response.writeHead(status, headers).end(JSON.stringify(message === null ? {} : { message }))
}

async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function linesOf({ headers }: IncomingMessage, body: Buffer): Promise<OtlpLine[] | null> {
  try {
    const isCompressed = headers['content-encoding'] === 'gzip'
    const text = isCompressed ? await promisify(gunzip)(body, { maxOutputLength: MAX_TEXT_BYTES }) : body
    return parseOtlp(text.toString())
  } catch {
    return null
  }
}
