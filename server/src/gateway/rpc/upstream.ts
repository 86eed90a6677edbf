import { Pool } from 'undici'
import type { UpstreamSettings } from '../../modules/rpc/index.ts'
import { exchange, type Reply } from './exchange.ts'
import { Breaker, Latencies } from './upstream-health.ts'
import type { RpcError } from './json-rpc.ts'
import { readResponse } from './raw-json.ts'
import { TokenBucket } from './token-bucket.ts'

export type Block = { number: number; hash: string }

/** A node did not respond, or not with JSON-RPC. `wasSent`: it may have executed the call nevertheless. */
export class UpstreamError extends Error {
  override name = 'UpstreamError'
  readonly wasSent: boolean
  constructor(message: string, wasSent: boolean) {
    super(message)
    this.wasSent = wasSent
  }
}

const connections = 64
const connectTimeoutMs = 5_000
const responseTimeoutMs = 30_000
/** For queries about the node itself, which are cheap. */
const probeTimeoutMs = 5_000
const neverSent = new Set([
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
  /** Longer responses resolve before they have ended, with a stream. */
  wholeBytes?: number
}

/** One node of a chain: its connections, its latency and its last observed state. */
export class Upstream {
  readonly settings: UpstreamSettings
  readonly breaker = new Breaker()
  readonly redact: ReturnType<typeof redactor>
  readonly rate: TokenBucket | null
  /** The chain it serves; null before it was read. */
  identity: string | null = null
  /** The highest block it has returned, not merely claimed. */
  head: Block | null = null
  /** The highest block it reports as finalized. */
  final: Block | null = null
  /** Why it receives no calls, as a sentence for operators; null when healthy. */
  fault: string | null = 'It has not responded yet.'
  /** How many times in a row it could not return the block it claims. */
  failedHeadChecks = 0
  /** False once it has responded to a batch with something other than an array. */
  takesBatches = true
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
      connections,
      connectTimeout: connectTimeoutMs,
    })
  }

  /** Latencies by method, or by size of batches. */
  latencies(kind: string): Latencies {
    let found = this.#latencies.get(kind)
    if (!found) {
      found = new Latencies()
      // Method names come from callers, so the number of entries is bounded.
      if (this.#latencies.size < 200) this.#latencies.set(kind, found)
    }
    return found
  }

  /** Over all methods, for display. */
  readonly latency = new Latencies()

  /** Whether it may receive a call that needs this height: high enough, breaker closed, within its rate. */
  isAvailable(minHeight: number): boolean {
    return (this.head?.number ?? -1) >= minHeight && this.breaker.isClosed && !(this.rate && this.rate.waitMs() > 0)
  }

  answered(kind: string, elapsedMs: number): void {
    this.latencies(kind).add(elapsedMs)
    this.latency.add(elapsedMs)
    this.breaker.succeeded()
  }

  /** Records a failure. A call cancelled because another node was faster is no failure, but its duration counts as latency. */
  failed(kind: string, elapsedMs: number, signal: AbortSignal | undefined): void {
    if (signal?.aborted) this.latencies(kind).add(elapsedMs)
    else this.breaker.failed()
  }

  /** @throws UpstreamError */
  async post(body: string, options: PostOptions = {}): Promise<Reply> {
    const { signal, timeoutMs = responseTimeoutMs, wholeBytes = Infinity } = options
    try {
      return await exchange(this.#pool, {
        method: 'POST',
        path: this.#path,
        headers: this.#headers,
        body,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal,
        wholeBytes,
      })
    } catch (error) {
      throw toUpstreamError(error)
    }
  }

  /** Queries the node itself. @throws UpstreamError; Error with the node's redacted message */
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

/** Replaces the error's own message, which contains the node's address. */
export function toUpstreamError(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return new UpstreamError(messages[code] ?? 'the connection was interrupted', !neverSent.has(code))
}

const messages: Record<string, string> = {
  ECONNREFUSED: 'it refuses connections',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name could not be resolved',
  UND_ERR_CONNECT_TIMEOUT: 'connecting to it timed out',
  UND_ERR_HEADERS_TIMEOUT: 'it did not respond in time',
  UND_ERR_BODY_TIMEOUT: 'it stopped in the middle of a response',
  UND_ERR_ABORTED: 'the call was cancelled',
}

/** Shorter parts of a URL are words such as `rpc` or `v2`, not keys. */
const minKey = 8

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
  const secrets = [...new Set(parts.flatMap((part) => [part, decoded(part)]))]
    .filter((part) => part.length >= minKey)
    .sort((a, b) => b.length - a.length)
  const clean = (text: string) =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text.replaceAll(/\b(?:https?|wss?):\/\/\S+/g, '…'))
  return ({ code, message, data }) => ({
    code,
    message: clean(message),
    ...(data === undefined ? {} : { data: JSON.parse(clean(JSON.stringify(data))) as unknown }),
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
