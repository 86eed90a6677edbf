import { classify, type UpstreamCaller } from './call-upstream.ts'
import type { PendingCall } from './chain-service.ts'
import type { RpcOutcome } from './json-rpc.ts'
import type { CallPolicy } from './policy/call-policy.ts'
import type { Pool } from './pool.ts'
import { readResponse, splitArray } from './raw-json.ts'
import { UpstreamError, type Upstream } from './upstream.ts'

/** Batch responses up to this size are buffered in memory. If one is larger, each call is sent alone and its response is streamed. */
const maxBatchBytes = 134_217_728
/** Maximum number of nodes that a batch is sent to before its calls are sent alone. */
const maxTries = 3

/** Sends calls in as few requests as the nodes allow. Sends calls that one node cannot execute to others. Settles every call. */
export async function callBatch(pool: Pool, upstreams: UpstreamCaller, pending: PendingCall[]): Promise<void> {
  const size = Math.min(...pool.upstreams.map((u) => u.settings.batch))
  const chunks: PendingCall[][] = []
  for (let i = 0; i < pending.length; i += size) chunks.push(pending.slice(i, i + size))
  await Promise.all(chunks.map((chunk) => callChunk(pool, upstreams, chunk)))
}

async function callChunk(pool: Pool, upstreams: UpstreamCaller, chunk: PendingCall[]): Promise<void> {
  const tried = new Set<Upstream>()
  const policy = combinedPolicy(chunk.map((o) => o.request.policy))
  const kind = kindOf(chunk.length)
  const send = (node: Upstream, signal?: AbortSignal) => sendChunk(node, chunk, kind, signal)
  for (let tries = 0; chunk.length > 1 && tries < maxTries; tries += 1) {
    const first = pool.pick(policy, kind, tried) ?? (tries > 0 ? null : await pool.waitFor(policy, kind, tried))
    if (!first?.acceptsBatches) break
    tried.add(first)
    const attempt = await upstreams.hedger.send({ first, policy, kind, tried, send })
    if (attempt.kind === 'inconclusive') continue
    const { outcomes, from } = attempt
    for (const [i, call] of chunk.entries()) {
      const outcome = outcomes.get(i)
      const result = outcome && classify(outcome, call.request.policy, from, pool)
      if (result?.kind === 'conclusive') call.settle(result.outcome)
      else
        void upstreams.call(call.request, new Set([from])).then((o) => call.settle(preferNodeReply(o, result?.outcome)))
    }
    return
  }
  // Either there is a single call, or no node accepted the batch. A node without batch support may still execute single calls.
  const failedNodes = [...tried].filter((node) => node.acceptsBatches)
  for (const call of chunk) void upstreams.call(call.request, new Set(failedNodes)).then(call.settle)
}

/** Batches are grouped by size for latency statistics, since the size determines how long they take. */
const kindOf = (size: number): string => `batch of ${2 ** Math.ceil(Math.log2(size))}`

/** Returns the node's error instead of the gateway's error that no other node was available. */
const preferNodeReply = (outcome: RpcOutcome, nodeOutcome: RpcOutcome | undefined): RpcOutcome =>
  nodeOutcome && outcome.kind === 'error' && outcome.isFromGateway ? nodeOutcome : outcome

/** Returns a policy that meets the requirements of all calls. */
function combinedPolicy(policies: readonly CallPolicy[]): CallPolicy {
  const heights = policies.map((p) => p.height)
  const numbers = heights.filter((h) => typeof h === 'number')
  return {
    isSafe: true,
    cacheable: 'never',
    height: heights.includes('head') ? 'head' : numbers.length > 0 ? Math.max(...numbers) : null,
    needsState: policies.some((p) => p.needsState),
  }
}

type Attempt =
  { kind: 'conclusive'; outcomes: Map<number, RpcOutcome>; from: Upstream } | { kind: 'inconclusive'; from: Upstream }

/** Sends calls as one batch to a node. The outcomes are by index of the call. Never rejects. */
async function sendChunk(
  from: Upstream,
  chunk: readonly PendingCall[],
  kind: string,
  signal?: AbortSignal,
): Promise<Attempt> {
  if (!from.acceptsBatches) return { kind: 'inconclusive', from }
  const calls = chunk.map(({ request: { method, params } }, id) => ({ jsonrpc: '2.0', id, method, params }))
  const startedMs = performance.now()
  from.inFlight += 1
  from.rate?.charge(chunk.length - 1)
  try {
    const { status, bytes, rest } = await from.post(JSON.stringify(calls), { signal, maxBufferedBytes: maxBatchBytes })
    rest?.destroy()
    if (status >= 300) throw new UpstreamError(`it responded with HTTP ${status}`, true)
    const outcomes = parseBatch(bytes)
    if (!outcomes) {
      from.acceptsBatches = false
      return { kind: 'inconclusive', from }
    }
    from.recordResponse(kind, performance.now() - startedMs)
    return { kind: 'conclusive', outcomes, from }
  } catch {
    from.recordFailure(kind, performance.now() - startedMs, signal)
    return { kind: 'inconclusive', from }
  } finally {
    from.inFlight -= 1
  }
}

const idOf = /"id"\s*:\s*(\d+)/

/** Returns the outcomes by index of the call; null when the body is not an array. @throws Error when the body is not JSON-RPC */
function parseBatch(bytes: Buffer): Map<number, RpcOutcome> | null {
  const elements = splitArray(bytes)
  if (!elements) return null
  const outcomes = new Map<number, RpcOutcome>()
  for (const [index, element] of elements.entries()) {
    const response = readResponse(element)
    outcomes.set(
      idOfElement(element, index),
      'result' in response
        ? { kind: 'result', json: response.result }
        : { kind: 'error', error: response.error, isFromGateway: false },
    )
  }
  return outcomes
}

/**
 * Returns the id of a response; nodes may respond in any order. The response is parsed only if the id does not precede the
 * result.
 */
function idOfElement(element: Buffer, index: number): number {
  const head = element.toString('latin1', 0, 64)
  const beforeResult = /^[^{]*\{[^{[]*?"(?:result|error)"/.exec(head)?.[0] ?? head
  const match = idOf.exec(beforeResult)
  if (match) return Number(match[1])
  const parsed = JSON.parse(element.toString()) as { id?: unknown }
  return typeof parsed.id === 'number' ? parsed.id : index
}
