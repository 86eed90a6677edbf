import { Pool } from 'undici'
import type { UpstreamSettings } from '../../modules/rpc/index.ts'
import { Breaker } from './breaker.ts'
import { exchange, type Reply } from './exchange.ts'
import { Latencies } from './latencies.ts'
import { readAnswer } from './raw-json.ts'
import { redactor } from './redact.ts'
import { TokenBucket } from './token-bucket.ts'

export type Block = { number: number; hash: string }

/** A node did not answer, or not with JSON-RPC. `wasSent`: it may have acted on the call all the same. */
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
const answerTimeoutMs = 30_000
/** Of questions about the node itself, which cost it nothing. */
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
  /** Longer answers are given before they have ended. */
  wholeBytes?: number
}

/** One node behind a chain: how to reach it, how fast it is, and what was last seen of it. */
export class Upstream {
  readonly settings: UpstreamSettings
  readonly breaker = new Breaker()
  readonly redact: ReturnType<typeof redactor>
  readonly rate: TokenBucket | null
  /** Which chain it serves; null before it said so. */
  identity: string | null = null
  /** The highest block it has shown, not just claimed. */
  head: Block | null = null
  /** The highest block it calls final. */
  final: Block | null = null
  /** Why it is not asked, in one sentence. */
  fault: string | null = 'It has not answered yet.'
  /** How many times in a row it could not show the block it claims. */
  unshown = 0
  /** False once it answered a batch with something else. */
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

  /** How long its answers to a method take, or to batches of a size. */
  latencies(kind: string): Latencies {
    let found = this.#latencies.get(kind)
    if (!found) {
      found = new Latencies()
      // Method names come from callers; past this many they are not worth telling apart.
      if (this.#latencies.size < 200) this.#latencies.set(kind, found)
    }
    return found
  }

  /** Over all methods: what people are shown. */
  readonly latency = new Latencies()

  answered(kind: string, elapsedMs: number): void {
    this.latencies(kind).add(elapsedMs)
    this.latency.add(elapsedMs)
    this.breaker.succeeded()
  }

  /** Given up because another was faster, it has not failed; that it takes at least so long is worth knowing. */
  failed(kind: string, elapsedMs: number, signal: AbortSignal | undefined): void {
    if (signal?.aborted) this.latencies(kind).add(elapsedMs)
    else this.breaker.failed()
  }

  /** @throws UpstreamError */
  async post(body: string, options: PostOptions = {}): Promise<Reply> {
    const { signal, timeoutMs = answerTimeoutMs, wholeBytes = Infinity } = options
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
      throw toNoAnswer(error)
    }
  }

  /** For looking at the node itself. @throws UpstreamError; Error with the node's own words */
  async ask(method: string, params: unknown[]): Promise<unknown> {
    const { status, bytes } = await this.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), {
      timeoutMs: probeTimeoutMs,
    })
    if (status >= 300) throw new UpstreamError(`it answers with HTTP ${status}`, true)
    let answer
    try {
      answer = readAnswer(bytes)
    } catch {
      throw new UpstreamError('it does not answer with JSON-RPC', true)
    }
    if ('error' in answer) throw new Error(this.redact(answer.error).message)
    return JSON.parse(answer.result.toString())
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}

/** Never the error's own message: it holds the address. */
export function toNoAnswer(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return new UpstreamError(sentences[code] ?? 'the connection broke', !neverSent.has(code))
}

const sentences: Record<string, string> = {
  ECONNREFUSED: 'it refuses connections',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be looked up',
  UND_ERR_CONNECT_TIMEOUT: 'it cannot be connected to',
  UND_ERR_HEADERS_TIMEOUT: 'it did not answer in time',
  UND_ERR_BODY_TIMEOUT: 'it stopped in the middle of an answer',
  UND_ERR_ABORTED: 'the call was given up',
}
