import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { addressBlock } from '../address-block.ts'
import {
  callerDisconnected,
  connectionClosed,
  notResponding,
  timedOut,
  type GatewayError,
  overloaded,
  tooManyBodies,
} from './gateway-errors.ts'
import { callerAddress, requestHeaders, responseHeaders } from './headers.ts'
import type { Route } from './routes-store.ts'
import { acceptsConnections, isAvoided, type SquidProgram } from './squid-programs.ts'
import { untilDrained } from '../ports/write-response.ts'

/** A request to forward, and how to find a program for it. */
export type ForwardOptions = {
  req: IncomingMessage
  res: ServerResponse
  path: string
  route: Route
  /** CORS headers from `deploy.cors`; null to keep the headers of the squid. */
  cors: string[] | null
  isProxyTrusted: boolean
  /** Returns the program to send the request to; each call may return another replica or generation. */
  pick: () => SquidProgram | null
  /** Called when the connection to a program failed. */
  avoid: (program: SquidProgram) => void
  /** Updates the route, so that the next `pick` uses the current generation. */
  refresh: () => Promise<void>
  /** Waits until a retry may succeed, with `bytes` of the body in memory; resolves with an error when it should not be retried. */
  wait: (bytes: number) => Promise<GatewayError | null>
  /** Ends event streams on shutdown; their clients reconnect. */
  draining?: AbortSignal | undefined
  /** How long the caller may accept no data before its response is destroyed. */
  stallMs: number
  /** Maximum number of requests to one program that have not ended. Further ones are rejected. */
  maxInFlight: number
}

/** What was sent to the caller, or the error that the caller must still receive. */
export type ForwardOutcome =
  { status: number; bytes: number; elapsedMs: number; isFailure: boolean } | { error: GatewayError }

/** Bodies up to this size are buffered, so that the request can be sent to another program. */
const maxHeldBytes = 65_536
/** Maximum number of attempts, so that a request that crashes a program does not reach every replica. */
const maxAttempts = 2

/** Maximum number of informational responses to a request, which no caller slows down because they are not forwarded. */
export const maxInformational = 100

/** Error codes of connections that failed before any part of the request was sent. */
const notSentCodes = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'ENOTDIR',
  'EACCES',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
])
/** Error codes of connections that were closed before the body was read, so that even a streamed body can still be sent. */
const bodyUnreadCodes = new Set(['UND_ERR_CLOSED', 'UND_ERR_DESTROYED'])

/**
 * Forwards a request to a squid and streams the response back, with backpressure in both directions. The request waits while no
 * program accepts connections. Never rejects.
 */
export async function forward(options: ForwardOptions): Promise<ForwardOutcome> {
  const body = await bufferSmallBody(options.req).catch(() => undefined)
  // The caller disconnected before the request was complete.
  if (body === undefined) return { error: callerDisconnected }
  const bytes = body === streamed ? maxHeldBytes : (body?.length ?? 0)
  let isBodyCounted = body !== streamed
  for (let attempts = 0; ;) {
    const program = options.pick()
    // A streamed body can be read only once, so the gateway first checks that the program accepts connections.
    if (program && (body !== streamed || (await acceptsConnections(program)))) {
      if (program.inFlight >= options.maxInFlight) return { error: overloaded(options.route) }
      if (!isBodyCounted && !countBody(options, program)) return { error: tooManyBodies(options.route) }
      isBodyCounted = true
      program.inFlight += 1
      const outcome = await send(options, program, body === streamed ? options.req : body).finally(
        () => (program.inFlight -= 1),
      )
      if (!('failure' in outcome)) return outcome
      const code = codeOf(outcome.failure)
      if (!wasNotSent(code, body)) {
        if (!mayRepeat(options, body, ++attempts))
          return { error: options.res.destroyed ? callerDisconnected : errorOf(options.route, code) }
        await options.refresh().catch(() => undefined)
        continue
      }
    }
    if (options.res.destroyed) return { error: callerDisconnected }
    if (program) options.avoid(program)
    const nextProgram = program && options.pick()
    if (nextProgram && !isAvoided(nextProgram)) continue
    const error = await options.wait(bytes)
    if (error) return { error }
  }
}

/** Counts the body until it has arrived, or the caller has disconnected. Returns false, without counting it, if there are too many. */
function countBody({ req, res, isProxyTrusted }: ForwardOptions, { incompleteBodies }: SquidProgram): boolean {
  const release = incompleteBodies.admit(addressBlock(callerAddress(req, isProxyTrusted)))
  if (!release) return false
  req.once('end', release)
  res.once('close', release)
  return true
}

/** Whether a failed request never reached the program, so that any other program can serve it. */
const wasNotSent = (code: string, body: BufferedBody): boolean =>
  notSentCodes.has(code) && (body !== streamed || bodyUnreadCodes.has(code))

/** Whether a request that may have reached a program may be sent again after `attempts` attempts. */
const mayRepeat = ({ req, res }: ForwardOptions, body: BufferedBody, attempts: number): boolean =>
  attempts < maxAttempts && body !== streamed && isSafeToRetry(req, body) && !res.destroyed

/** Marks a body that is streamed and can be sent only once. */
const streamed = Symbol('streamed')
type BufferedBody = Buffer | null | typeof streamed

/**
 * Resolves with the body if it is small and of known length; null if there is none; `streamed` otherwise.
 * Uses events: an async iterator costs more than the rest of forwarding a small query (docs/benchmarks.md).
 */
function bufferSmallBody(req: IncomingMessage): Promise<BufferedBody> {
  if (req.headers['transfer-encoding'] !== undefined) return Promise.resolve(streamed)
  const length = Number(req.headers['content-length'] ?? 0)
  if (length === 0) return Promise.resolve(null)
  if (length > maxHeldBytes) return Promise.resolve(streamed)
  return new Promise((done, fail) => {
    const chunks: Buffer[] = []
    const failIfIncomplete = () => {
      // A complete request is closed, too. Creating an error for each, with its stack, would cost 5 % of forwarding a small query.
      if (!req.readableEnded) fail(new Error('The caller disconnected'))
    }
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.once('end', () => {
      const [first] = chunks
      done(first && chunks.length === 1 ? first : Buffer.concat(chunks))
    })
    req.once('error', fail)
    req.once('close', failIfIncomplete)
  })
}

function send(
  options: ForwardOptions,
  program: SquidProgram,
  body: Buffer | IncomingMessage | null,
): Promise<ForwardOutcome | { failure: Error }> {
  const { req, res, cors } = options
  const startedMs = performance.now()
  const headers = requestHeaders(req, options.isProxyTrusted)
  const length = req.headers['content-length']
  if (body === req && length !== undefined) headers.push('content-length', length)
  return new Promise((done) => {
    let elapsedMs = 0
    let bytes = 0
    let status = 0
    let informational = 0
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (controller) => {
        const abort = () => {
          if (!res.writableFinished) controller.abort(new Error('The caller disconnected'))
        }
        if (res.destroyed) abort()
        else res.once('close', abort)
      },
      onResponseStart: (controller, code, received) => {
        // Informational responses, such as early hints, are not forwarded.
        if (code < 200) {
          if (++informational > maxInformational) controller.abort(new Error('Too many informational responses'))
          return
        }
        status = code
        elapsedMs = performance.now() - startedMs
        const squidHeaders = responseHeaders(received, cors !== null)
        res.writeHead(code, cors ? [...squidHeaders, ...cors] : squidHeaders)
        if (isEventStream(received)) endOnDrain(options.draining, res)
      },
      onResponseData: (controller, chunk) => {
        bytes += chunk.length
        if (res.write(chunk)) return
        controller.pause()
        void untilDrained(res, options.stallMs).then(() =>
          res.destroyed ? controller.abort(new Error('The caller disconnected')) : controller.resume(),
        )
      },
      onResponseEnd: () => {
        res.end()
        done({ status, bytes, elapsedMs, isFailure: status >= 500 })
      },
      onResponseError: (_, error) => {
        if (!res.headersSent) return done({ failure: error })
        const isFailure = !res.destroyed
        // Breaks the connection, so that the caller notices the incomplete response.
        res.destroy()
        done({ status: isFailure ? 502 : callerDisconnected.status, bytes, elapsedMs, isFailure })
      },
    }
    const method = req.method ?? 'GET'
    program.pool.dispatch({ path: options.path, method, headers, body }, handler)
  })
}

const isEventStream = (headers: Record<string, string | string[] | undefined>) =>
  String(headers['content-type'] ?? '').startsWith('text/event-stream')

function endOnDrain(draining: AbortSignal | undefined, res: ServerResponse): void {
  const end = () => res.end()
  if (draining?.aborted) return void end()
  draining?.addEventListener('abort', end)
  res.once('close', () => draining?.removeEventListener('abort', end))
}

function errorOf(route: Route, code: string): GatewayError {
  if (notSentCodes.has(code)) return notResponding(route)
  return code === 'UND_ERR_HEADERS_TIMEOUT' ? timedOut(route) : connectionClosed(route)
}

const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '')

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether a request may be sent to a squid twice: safe methods (RFC 9110, 9.2.1), and GraphQL queries, which are read-only although
 * they use POST. Anything that might be a mutation is not safe.
 */
function isSafeToRetry(req: Pick<IncomingMessage, 'method' | 'headers'>, body: Buffer | null): boolean {
  if (safeMethods.has(req.method ?? '')) return true
  if (req.method !== 'POST' || !body || !req.headers['content-type']?.startsWith('application/json')) return false
  const text = body.toString()
  return text.includes('"query"') && !/mutation/i.test(text)
}
