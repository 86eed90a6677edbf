import type { Reply } from './exchange.ts'
import { Hedger } from './hedge.ts'
import { codes, ourError, type Outcome } from './json-rpc.ts'
import type { CallPolicy } from './call-policy.ts'
import type { Pool } from './pool.ts'
import { envelopeBytes, readAnswer, resultEnd, resultStart } from './raw-json.ts'
import { UpstreamError, toNoAnswer, type Upstream } from './upstream.ts'

/** A call on its way to a node. */
export type Request = { method: string; params: unknown; plan: CallPolicy }

/** Larger answers go to the caller as they come, and to nobody else. */
const wholeBytes = 4_194_304
const maxTries = 4

/** What nodes say when another node may do better. */
const passing =
  /rate.?limit|too many requests|limit exceeded|exceeded.{0,30}(?:capacity|quota|limit|credits)|capacity exceeded|missing trie node|header not found|unknown block|block not found|state (?:is )?not (?:available|found)|state already discarded|pruned|not yet available|temporar|timed? ?out|try again|overloaded|internal error|upstream|service unavailable|no available/i
const ofTheCall =
  /revert|insufficient funds|nonce too|out of gas|invalid (?:argument|params|opcode)|gas required exceeds/i

type Attempt =
  | { kind: 'answered'; outcome: Outcome; from: Upstream }
  /** `outcome` is what to say if nobody does better. */
  | { kind: 'weak'; outcome: Outcome; from: Upstream; maySendAgain: boolean }

/** Asks the nodes of a pool: the best first, a second one when it takes long, others when it fails. */
export class UpstreamCaller {
  readonly #pool: Pool
  readonly hedger: Hedger

  constructor(pool: Pool) {
    this.#pool = pool
    this.hedger = new Hedger(pool)
  }

  /** `tried` are nodes that failed at this call before. Never rejects. */
  async ask(request: Request, tried = new Set<Upstream>()): Promise<Outcome> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: request.method, params: request.params })
    let last: Outcome | null = null
    for (let tries = 0; tries < maxTries; tries += 1) {
      const first =
        this.#pool.pick(request.plan, request.method, tried) ??
        // For a block that exists a node that is just about to have it is worth waiting for; another error is not.
        (last?.kind === 'error' ? null : await this.#pool.await(request.plan, request.method, tried))
      if (!first) break
      tried.add(first)
      const attempt = await this.#attempt(first, request, body, tried)
      if (attempt.kind === 'answered') return attempt.outcome
      // A node's own words are worth more than that another one could not be reached.
      if (last === null || isOurs(last) || !isOurs(attempt.outcome)) last = attempt.outcome
      if (!attempt.maySendAgain) break
    }
    return last ?? this.noNode(request.plan)
  }

  noNode(plan: CallPolicy): Outcome {
    const { heads, chain } = this.#pool
    if (chain.upstreams.length === 0)
      return ourError(codes.unavailable, `No node is configured for ${chain.title}. The operator can add one.`)
    const reachable = heads.healthy.filter((u) => u.breaker.isClosed)
    if (reachable.length === 0)
      return ourError(codes.unavailable, `No node of ${chain.title} answers now. Try again in a few seconds.`)
    if (plan.height === 'head' || (typeof plan.height === 'number' && plan.height > heads.best))
      return ourError(
        codes.unavailable,
        `The nodes of ${chain.title} that answer are behind block ${heads.servedLatest}, which was seen before. Try again in a few seconds.`,
      )
    const isBusy = reachable.some((u) => u.rate && u.rate.waitMs() > 0)
    return isBusy
      ? ourError(codes.limitExceeded, `The nodes of ${chain.title} are busy. Try again in a few seconds.`)
      : ourError(codes.unavailable, `No node of ${chain.title} could answer. Try again in a few seconds.`)
  }

  #attempt(first: Upstream, request: Request, body: string, tried: Set<Upstream>): Promise<Attempt> {
    const { plan, method } = request
    const send = (node: Upstream, signal?: AbortSignal) => this.#send(node, request, body, signal)
    return plan.isSafe ? this.hedger.ask({ first, plan, kind: method, tried, send }) : send(first)
  }

  async #send(upstream: Upstream, request: Request, body: string, signal?: AbortSignal): Promise<Attempt> {
    const startedMs = performance.now()
    upstream.inFlight += 1
    try {
      const outcome = readReply(await upstream.post(body, { signal, wholeBytes }))
      upstream.answered(request.method, performance.now() - startedMs)
      return judged(outcome, request.plan, upstream, this.#pool)
    } catch (error) {
      const failure = toNoAnswer(error)
      upstream.failed(request.method, performance.now() - startedMs, signal)
      const { isSafe } = request.plan
      const text = isSafe
        ? `No node of ${this.#pool.chain.title} could answer: of the last one asked, ${failure.message}.`
        : `The node of ${this.#pool.chain.title} did not answer: ${failure.message}. The call may have been carried out.`
      const outcome = ourError(codes.unavailable, text)
      return { kind: 'weak', outcome, from: upstream, maySendAgain: isSafe || !failure.wasSent }
    } finally {
      upstream.inFlight -= 1
    }
  }
}

const isOurs = (outcome: Outcome): boolean => outcome.kind === 'error' && outcome.isOurs

/** Whether another node should be asked in place of this answer. */
export function judged(outcome: Outcome, plan: CallPolicy, from: Upstream, pool: Pool): Attempt {
  if (outcome.kind === 'error') {
    const error = from.redact(outcome.error)
    const clean: Outcome = { ...outcome, error }
    const isPassing = error.code === -32005 || (passing.test(error.message) && !ofTheCall.test(error.message))
    return isPassing && plan.isSafe
      ? { kind: 'weak', outcome: clean, from, maySendAgain: true }
      : { kind: 'answered', outcome: clean, from }
  }
  const isNothing = outcome.kind === 'result' && outcome.json.length === 4 && outcome.json.toString('latin1') === 'null'
  const { best } = pool.heads
  // A block that another node has shown exists; and what is named by hash, one that is further may have.
  const mayBeThere = typeof plan.height === 'number' ? plan.height <= best : (from.head?.number ?? -1) < best
  return isNothing && plan.isSafe && plan.lasts !== 'never' && mayBeThere
    ? { kind: 'weak', outcome, from, maySendAgain: true }
    : { kind: 'answered', outcome, from }
}

/** @throws UpstreamError */
function readReply({ status, bytes, rest }: Reply): Outcome {
  if (status >= 300) {
    rest?.destroy()
    // Nodes also say what is wrong with a call by HTTP 400, and add JSON-RPC to it.
    if (status < 500 && status !== 429 && status !== 401 && status !== 403) {
      const outcome = fromWhole(bytes)
      if (outcome.kind === 'error') return outcome
    }
    throw new UpstreamError(`it answered with HTTP ${status}`, true)
  }
  if (!rest) return fromWhole(bytes)
  const start = resultStart(bytes)
  if (start !== null) return { kind: 'stream', chunks: resultOf(bytes.subarray(start), rest) }
  rest.destroy()
  throw new UpstreamError('it did not answer with JSON-RPC', true)
}

function fromWhole(bytes: Buffer): Outcome {
  try {
    const answer = readAnswer(bytes)
    if ('result' in answer) return { kind: 'result', json: answer.result }
    return { kind: 'error', error: answer.error, isOurs: false }
  } catch {
    throw new UpstreamError('it did not answer with JSON-RPC', true)
  }
}

/** The bytes of a result that is still coming: the end is held back until it is known where the envelope begins. */
async function* resultOf(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  let held = first
  for await (const chunk of rest) {
    const all = Buffer.concat([held, chunk])
    const safe = Math.max(0, all.length - envelopeBytes)
    if (safe > 0) yield all.subarray(0, safe)
    held = all.subarray(safe)
  }
  const end = resultEnd(held)
  if (end === null) throw new UpstreamError('it stopped in the middle of an answer', true)
  yield held.subarray(0, end)
}
