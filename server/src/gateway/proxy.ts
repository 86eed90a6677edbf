import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { upstreamClosed, notAnswering, timedOut, type GatewayError } from './answers.ts'
import { requestHeaders, responseHeaders } from './headers.ts'
import { isSafeToRetry } from './retry-safety.ts'
import type { Route } from './routes-store.ts'
import { canConnect, isAvoided, type Upstream } from './upstreams.ts'

export type Forward = {
  req: IncomingMessage
  res: ServerResponse
  path: string
  route: Route
  /** Our answer to `deploy.cors`, or null to leave the squid's own headers. */
  cors: string[] | null
  isProxyTrusted: boolean
  /** The program to ask now; a further call may answer another replica or generation. */
  pick: () => Upstream | null
  /** It could not be connected to. */
  avoid: (upstream: Upstream) => void
  /** Makes sure the next `pick` knows the newest generation. */
  refresh: () => Promise<void>
  /** Waits until it is worth another try, with so many bytes of the body; answers what to tell the caller when it is not. */
  wait: (bytes: number) => Promise<GatewayError | null>
  /** Ends event streams, whose clients then ask again. */
  draining?: AbortSignal | undefined
}

export type Outcome = { status: number; bytes: number; elapsedMs: number } | { refused: GatewayError }

/** Bodies up to this size are read first, so that a request can be sent again to a program that does answer. */
const maxHeldBytes = 65_536
/** Once it was sent: whatever it did to the one program, it must not do to all of them. */
const maxAttempts = 2

const notSent = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'ENOTDIR',
  'EACCES',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
])
/** The connections were given up before the request was looked at: its body is as it was, also when it is streamed. */
const notBegun = new Set(['UND_ERR_CLOSED', 'UND_ERR_DESTROYED'])

/**
 * Sends a request to a squid and streams its answer back, with back-pressure both ways. While none of its programs can be
 * connected to, the request waits. Never rejects.
 */
export async function forward(f: Forward): Promise<Outcome> {
  const body = await bufferSmallBody(f.req).catch(() => undefined)
  // The caller hung up before the request was complete.
  if (body === undefined) return { refused: upstreamClosed(f.route) }
  const bytes = body === streamed ? maxHeldBytes : (body?.length ?? 0)
  for (let sendings = 0; ;) {
    const upstream = f.pick()
    // A body that was read for a program that is not there could not be sent to another one.
    if (upstream && (body !== streamed || (await canConnect(upstream)))) {
      const outcome = await send(f, upstream, body === streamed ? f.req : body)
      if (!('failed' in outcome)) return outcome
      const code = codeOf(outcome.failed)
      if (body === streamed && !notBegun.has(code)) return { refused: explain(f.route, code) }
      if (!notSent.has(code)) {
        const mayRepeat = ++sendings < maxAttempts && body !== streamed && isSafeToRetry(f.req, body)
        if (!mayRepeat || f.res.destroyed) return { refused: explain(f.route, code) }
        await f.refresh().catch(() => undefined)
        continue
      }
    }
    if (f.res.destroyed) return { refused: upstreamClosed(f.route) }
    if (upstream) f.avoid(upstream)
    const next = upstream && f.pick()
    if (next && !isAvoided(next)) continue
    const refused = await f.wait(bytes)
    if (refused) return { refused }
  }
}

/** A body that is streamed and can be sent only once. */
const streamed = Symbol('streamed')

/**
 * The body when it is small and of known length, null when there is none.
 * By events: an async iterator costs more than all the rest of forwarding a small query (docs/benchmarks.md).
 */
function bufferSmallBody(req: IncomingMessage): Promise<Buffer | null | typeof streamed> {
  if (req.headers['transfer-encoding'] !== undefined) return Promise.resolve(streamed)
  const length = Number(req.headers['content-length'] ?? 0)
  if (length === 0) return Promise.resolve(null)
  if (length > maxHeldBytes) return Promise.resolve(streamed)
  return new Promise((done, fail) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.once('end', () => done(Buffer.concat(chunks)))
    req.once('error', fail)
    req.once('close', () => fail(new Error('the caller hung up')))
  })
}

function send(
  f: Forward,
  upstream: Upstream,
  body: Buffer | IncomingMessage | null,
): Promise<Outcome | { failed: Error }> {
  const { req, res, cors } = f
  const startedMs = performance.now()
  const headers = requestHeaders(req, f.isProxyTrusted)
  const length = req.headers['content-length']
  if (body === req && length !== undefined) headers.push('content-length', length)
  return new Promise((done) => {
    let elapsedMs = 0
    let bytes = 0
    let status = 0
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (controller) => {
        const stop = () => {
          if (!res.writableFinished) controller.abort(new Error('the caller hung up'))
        }
        if (res.destroyed) stop()
        else res.once('close', stop)
      },
      onResponseStart: (_, code, told) => {
        // Early hints and the like are not for us to pass on.
        if (code < 200) return
        status = code
        elapsedMs = performance.now() - startedMs
        const theirs = responseHeaders(told, cors !== null)
        res.writeHead(code, cors ? [...theirs, ...cors] : theirs)
        if (isEventStream(told)) endWith(f.draining, res)
      },
      onResponseData: (controller, chunk) => {
        bytes += chunk.length
        if (res.write(chunk)) return
        controller.pause()
        res.once('drain', () => controller.resume())
      },
      onResponseEnd: () => {
        res.end()
        done({ status, bytes, elapsedMs })
      },
      onResponseError: (_, error) => {
        if (!res.headersSent) return done({ failed: error })
        // Half an answer: the caller must notice.
        res.destroy()
        done({ status: 502, bytes, elapsedMs })
      },
    }
    const method = req.method ?? 'GET'
    upstream.pool.dispatch({ path: f.path, method, headers, body }, handler)
  })
}

const isEventStream = (headers: Record<string, string | string[] | undefined>) =>
  String(headers['content-type'] ?? '').startsWith('text/event-stream')

function endWith(draining: AbortSignal | undefined, res: ServerResponse): void {
  const end = () => res.end()
  if (draining?.aborted) return void end()
  draining?.addEventListener('abort', end)
  res.once('close', () => draining?.removeEventListener('abort', end))
}

function explain(route: Route, code: string): GatewayError {
  if (notSent.has(code)) return notAnswering(route)
  return code === 'UND_ERR_HEADERS_TIMEOUT' ? timedOut(route) : upstreamClosed(route)
}

const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '')
