import type { Reply } from './exchange.ts'
import { Hedger } from './hedge.ts'
import { codes, gatewayError, type RpcOutcome } from './json-rpc.ts'
import type { CallPolicy } from './policy/call-policy.ts'
import type { Pool } from './pool.ts'
import { envelopeBytes, readResponse, resultEnd, resultStart } from './raw-json.ts'
import { UpstreamError, toUpstreamError, type Upstream } from './upstream.ts'

/** A call to send to a node. */
export type UpstreamRequest = { method: string; params: unknown; policy: CallPolicy }

/** Larger responses are streamed to their caller and not shared with others. */
const maxBufferedBytes = 4_194_304
/** Maximum number of nodes that a call is sent to, without the second nodes of hedged calls. */
const maxTries = 4

/** Error messages after which another node may succeed. */
const transientErrors =
  /rate.?limit|too many requests|limit exceeded|exceeded.{0,30}(?:capacity|quota|limit|credits)|capacity exceeded|missing trie node|header not found|unknown block|block not found|state (?:is )?not (?:available|found)|state already discarded|pruned|not yet available|temporar|timed? ?out|try again|overloaded|internal error|upstream|service unavailable|no available/i
/** Error messages about the call itself, which every node would return. */
const callErrors =
  /revert|insufficient funds|nonce too|out of gas|invalid (?:argument|params|opcode)|gas required exceeds/i

type Attempt =
  | { kind: 'conclusive'; outcome: RpcOutcome; from: Upstream }
  /** Another node may return a result; otherwise `outcome` is returned. */
  | { kind: 'inconclusive'; outcome: RpcOutcome; from: Upstream; maySendAgain: boolean }

/**
 * Sends calls to the nodes of a pool: to the best node, to a second one as well when the first is slow, and to others when it fails.
 */
export class UpstreamCaller {
  readonly #pool: Pool
  readonly hedger: Hedger

  constructor(pool: Pool) {
    this.#pool = pool
    this.hedger = new Hedger(pool)
  }

  /** Sends a call. `tried`: nodes that already failed to execute it. Never rejects. */
  async call(request: UpstreamRequest, tried = new Set<Upstream>()): Promise<RpcOutcome> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: request.method, params: request.params })
    let lastOutcome: RpcOutcome | null = null
    for (let tries = 0; tries < maxTries; tries += 1) {
      const first =
        this.#pool.pick(request.policy, request.method, tried) ??
        // Waits for a node, except after an error. After a null result, waiting may help: a node may be about to import the block.
        (lastOutcome?.kind === 'error' ? null : await this.#pool.waitFor(request.policy, request.method, tried))
      if (!first) break
      tried.add(first)
      const attempt = await this.#attempt(first, request, body, tried)
      if (attempt.kind === 'conclusive') return attempt.outcome
      // An error from a node is more useful to the caller than the gateway's own connection error.
      if (lastOutcome === null || isFromGateway(lastOutcome) || !isFromGateway(attempt.outcome))
        lastOutcome = attempt.outcome
      if (!attempt.maySendAgain) break
    }
    return lastOutcome ?? this.unavailableError(request.policy)
  }

  /** Returns the error that explains why no node can execute a call. */
  unavailableError(policy: CallPolicy): RpcOutcome {
    const { heads, chain } = this.#pool
    if (chain.upstreams.length === 0)
      return gatewayError(codes.unavailable, `No node is configured for ${chain.title}. The operator can add one.`)
    const reachable = heads.healthy.filter((u) => u.breaker.isClosed)
    if (reachable.length === 0)
      return gatewayError(codes.unavailable, `No node of ${chain.title} is responding. Try again in a few seconds.`)
    if (policy.height === 'head' || (typeof policy.height === 'number' && policy.height > heads.best))
      return gatewayError(
        codes.unavailable,
        `The responding nodes of ${chain.title} are behind block ${heads.servedLatest}, which was already served. Try again in a few seconds.`,
      )
    const isBusy = reachable.some((u) => u.rate && u.rate.waitMs() > 0)
    return isBusy
      ? gatewayError(codes.limitExceeded, `The nodes of ${chain.title} are busy. Try again in a few seconds.`)
      : gatewayError(codes.unavailable, `No node of ${chain.title} could execute the call. Try again in a few seconds.`)
  }

  #attempt(first: Upstream, request: UpstreamRequest, body: string, tried: Set<Upstream>): Promise<Attempt> {
    const { policy, method } = request
    const send = (node: Upstream, signal?: AbortSignal) => this.#send(node, request, body, signal)
    return policy.isSafe ? this.hedger.send({ first, policy, kind: method, tried, send }) : send(first)
  }

  async #send(upstream: Upstream, request: UpstreamRequest, body: string, signal?: AbortSignal): Promise<Attempt> {
    const startedMs = performance.now()
    upstream.inFlight += 1
    try {
      const outcome = readReply(await upstream.post(body, { signal, maxBufferedBytes }))
      upstream.recordResponse(request.method, performance.now() - startedMs)
      return classify(outcome, request.policy, upstream, this.#pool)
    } catch (error) {
      const failure = toUpstreamError(error)
      upstream.recordFailure(request.method, performance.now() - startedMs, signal)
      const { isSafe } = request.policy
      const text = isSafe
        ? `No node of ${this.#pool.chain.title} could execute the call. Error of the last one tried: ${failure.message}.`
        : `The call to a node of ${this.#pool.chain.title} failed: ${failure.message}.${failure.wasSent ? ' It may have been executed.' : ''}`
      const outcome = gatewayError(codes.unavailable, text)
      return { kind: 'inconclusive', outcome, from: upstream, maySendAgain: isSafe || !failure.wasSent }
    } finally {
      upstream.inFlight -= 1
    }
  }
}

const isFromGateway = (outcome: RpcOutcome): boolean => outcome.kind === 'error' && outcome.isFromGateway

/** Decides whether an outcome is conclusive or another node should be tried. */
export function classify(outcome: RpcOutcome, policy: CallPolicy, from: Upstream, pool: Pool): Attempt {
  if (outcome.kind === 'error') {
    const error = from.redact(outcome.error)
    const redacted: RpcOutcome = { ...outcome, error }
    const isTransient =
      error.code === -32005 || (transientErrors.test(error.message) && !callErrors.test(error.message))
    return isTransient && policy.isSafe
      ? { kind: 'inconclusive', outcome: redacted, from, maySendAgain: true }
      : { kind: 'conclusive', outcome: redacted, from }
  }
  const isNullResult =
    outcome.kind === 'result' && outcome.json.length === 4 && outcome.json.toString('latin1') === 'null'
  const { best } = pool.heads
  // A block up to the highest head exists. A block or transaction given by its hash may exist on a node with a higher head.
  const mayExist = typeof policy.height === 'number' ? policy.height <= best : (from.head?.number ?? -1) < best
  return isNullResult && policy.isSafe && policy.cacheable !== 'never' && mayExist
    ? { kind: 'inconclusive', outcome, from, maySendAgain: true }
    : { kind: 'conclusive', outcome, from }
}

/** Reads the outcome of a call from a node's response. @throws UpstreamError when it is not a JSON-RPC response */
function readReply({ status, bytes, rest }: Reply): RpcOutcome {
  if (status >= 300) {
    rest?.destroy()
    // Some nodes report an invalid call with HTTP 400 and a JSON-RPC error in the body.
    if (status < 500 && status !== 429 && status !== 401 && status !== 403) {
      const outcome = parseReply(bytes)
      if (outcome.kind === 'error') return outcome
    }
    throw new UpstreamError(`it responded with HTTP ${status}`, true)
  }
  if (!rest) return parseReply(bytes)
  const start = resultStart(bytes)
  if (start !== null)
    return { kind: 'stream', chunks: streamResult(bytes.subarray(start), rest), cancel: () => rest.destroy() }
  rest.destroy()
  throw new UpstreamError('it did not respond with JSON-RPC', true)
}

function parseReply(bytes: Buffer): RpcOutcome {
  try {
    const response = readResponse(bytes)
    if ('result' in response) return { kind: 'result', json: response.result }
    return { kind: 'error', error: response.error, isFromGateway: false }
  } catch {
    throw new UpstreamError('it did not respond with JSON-RPC', true)
  }
}

/** Streams the bytes of a result, holding back the tail until the end of the envelope is known. */
async function* streamResult(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  let tail = first
  for await (const chunk of rest) {
    const combined = Buffer.concat([tail, chunk])
    const safeLength = Math.max(0, combined.length - envelopeBytes)
    if (safeLength > 0) yield combined.subarray(0, safeLength)
    tail = combined.subarray(safeLength)
  }
  const end = resultEnd(tail)
  if (end === null) throw new UpstreamError('it stopped in the middle of a response', true)
  yield tail.subarray(0, end)
}
