import { Pool } from 'undici'
import type { UpstreamSettings } from '../../modules/chains/index.ts'
import { exchange, type Reply } from './exchange.ts'
import { Breaker, Latencies } from './upstream-health.ts'
import type { RpcError } from './json-rpc.ts'
import { readResponse } from './raw-json.ts'
import { TokenBucket } from './token-bucket.ts'

/** The number and hash of a block; the hash is empty on chains whose nodes do not return it. */
export type Block = { number: number; hash: string }

/** A node did not respond, or not with JSON-RPC. `wasSent`: the node may have received and executed the call. */
export class UpstreamError extends Error {
  override name = 'UpstreamError'
  readonly wasSent: boolean
  constructor(message: string, wasSent: boolean) {
    super(message)
    this.wasSent = wasSent
  }
}

/** Maximum number of connections to one node. */
const maxConnections = 64
const connectTimeoutMs = 5_000
const responseTimeoutMs = 30_000
/** Timeout of the gateway's own queries, which are cheap. */
const probeTimeoutMs = 5_000
/** Error codes of connections that failed before the call was sent. */
const notSentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
])

type PostOptions = {
  signal?: AbortSignal | undefined
  timeoutMs?: number
  /** Longer responses are returned as a stream before they have ended. */
  maxBufferedBytes?: number
}

/** One node of a chain: its connections, its latency and its last observed state. */
export class Upstream {
  readonly settings: UpstreamSettings
  readonly breaker = new Breaker()
  /** Removes the node's URL and keys from an error. */
  readonly redact: ReturnType<typeof redactor>
  /** Limits the calls to the node; null if they are not limited. */
  readonly rate: TokenBucket | null
  /** The chain that the node serves; null until it has been read. */
  identity: string | null = null
  /** The last head of the node whose block it has returned. A head that the node only claims does not count. */
  head: Block | null = null
  /** The latest finalized block of the node; null if it reports none, or one above its head. */
  final: Block | null = null
  /** Why the node receives no calls, as a sentence for operators; null if it is healthy. */
  fault: string | null = 'It has not responded yet.'
  /** How many times in a row the node could not return the block it claims. */
  failedHeadChecks = 0
  /** False once the node has responded to a batch with something other than an array. */
  acceptsBatches = true
  /** The number of requests that the node has not responded to. */
  inFlight = 0
  readonly #latencies = new Map<string, Latencies>()
  readonly #pool: Pool
  readonly #path: string
  readonly #headers: Record<string, string>

  constructor(settings: UpstreamSettings) {
    this.settings = settings
    this.redact = redactor(settings)
    this.rate = settings.rate === undefined ? null : new TokenBucket(settings.rate)
    const url = new URL(settings.url)
    this.#path = `${url.pathname}${url.search}`
    this.#headers = { 'content-type': 'application/json', accept: 'application/json', ...settings.headers }
    if (url.username)
      this.#headers['authorization'] =
        `Basic ${Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`).toString('base64')}`
    this.#pool = new Pool(url.origin, {
      connections: maxConnections,
      connectTimeout: connectTimeoutMs,
    })
  }

  /** Returns latencies by method, or by size of batches. */
  latencies(kind: string): Latencies {
    let latencies = this.#latencies.get(kind)
    if (!latencies) {
      latencies = new Latencies()
      // Method names come from callers, so the number of entries is bounded.
      if (this.#latencies.size < 200) this.#latencies.set(kind, latencies)
    }
    return latencies
  }

  /** Latencies of all methods, for display. */
  readonly latency = new Latencies()

  /**
   * Whether the node may receive a call that needs this height: its head is high enough, its breaker closed, its rate
   * not used up.
   */
  isAvailable(minHeight: number): boolean {
    return (this.head?.number ?? -1) >= minHeight && this.breaker.isClosed && !(this.rate && this.rate.waitMs() > 0)
  }

  /** Records a response and its latency. */
  recordResponse(kind: string, elapsedMs: number): void {
    this.latencies(kind).add(elapsedMs)
    this.latency.add(elapsedMs)
    this.breaker.recordSuccess()
  }

  /** Records a failure. A call cancelled because another node was faster is not a failure, but its duration counts as latency. */
  recordFailure(kind: string, elapsedMs: number, signal: AbortSignal | undefined): void {
    if (signal?.aborted) this.latencies(kind).add(elapsedMs)
    else this.breaker.recordFailure()
  }

  /** Posts a JSON-RPC body. @throws UpstreamError */
  async post(body: string, options: PostOptions = {}): Promise<Reply> {
    const { signal, timeoutMs = responseTimeoutMs, maxBufferedBytes = Infinity } = options
    try {
      return await exchange(this.#pool, {
        method: 'POST',
        path: this.#path,
        headers: this.#headers,
        body,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal,
        maxBufferedBytes,
      })
    } catch (error) {
      throw toUpstreamError(error)
    }
  }

  /**
   * Sends one of the gateway's own queries, which are cheap, and returns its result.
   * @throws UpstreamError; Error with the node's redacted message
   */
  async query(method: string, params: unknown[]): Promise<unknown> {
    const { status, bytes } = await this.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), {
      timeoutMs: probeTimeoutMs,
    })
    if (status >= 300) throw new UpstreamError(`it responds with HTTP ${status}`, true)
    let response
    try {
      response = readResponse(bytes)
    } catch {
      throw new UpstreamError('it does not respond with JSON-RPC', true)
    }
    if ('error' in response) throw new Error(this.redact(response.error).message)
    return JSON.parse(response.result.toString())
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}

/** Converts an error of a connection. Replaces its message, which contains the node's address. */
export function toUpstreamError(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return new UpstreamError(errorMessages[code] ?? 'the connection was interrupted', !notSentCodes.has(code))
}

const errorMessages: Record<string, string> = {
  ECONNREFUSED: 'it refuses connections',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name could not be resolved',
  UND_ERR_CONNECT_TIMEOUT: 'connecting to it timed out',
  UND_ERR_HEADERS_TIMEOUT: 'it did not respond in time',
  UND_ERR_BODY_TIMEOUT: 'it stopped in the middle of a response',
  UND_ERR_ABORTED: 'the call was cancelled',
}

/** Shorter parts of a URL are words such as `rpc` or `v2`, not keys. */
const minSecretLength = 8

/** Removes a node's URL and keys from its error messages. Nodes often quote them: "see https://…/<key>". */
function redactor({ url, headers }: Pick<UpstreamSettings, 'url' | 'headers'>): (error: RpcError) => RpcError {
  const { host, hostname, pathname, search, username, password } = new URL(url)
  const parts = [
    host,
    hostname,
    username,
    password,
    ...pathname.split('/'),
    ...search.split(/[?&=]/),
    ...Object.values(headers).flatMap((value) => [value, ...value.split(' ')]),
  ]
  const secrets = [...new Set(parts.flatMap((part) => [part, decode(part)]))]
    .filter((part) => part.length >= minSecretLength)
    .sort((a, b) => b.length - a.length)
  const redactText = (text: string) =>
    secrets.reduce(
      (redacted, secret) => redacted.replaceAll(secret, '…'),
      text.replaceAll(/\b(?:https?|wss?):\/\/\S+/g, '…'),
    )
  return ({ code, message, data }) => ({
    code,
    message: redactText(message),
    ...(data === undefined ? {} : { data: JSON.parse(redactText(JSON.stringify(data))) as unknown }),
  })
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
