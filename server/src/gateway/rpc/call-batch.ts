import { classify, type UpstreamCaller } from './call-upstream.ts'
import type { OpenCall } from './chain-service.ts'
import type { Outcome } from './json-rpc.ts'
import type { CallPolicy } from './policy/call-policy.ts'
import type { Pool } from './pool.ts'
import { readResponse, splitArray } from './raw-json.ts'
import { UpstreamError, type Upstream } from './upstream.ts'

/** Batch responses are buffered in memory. If one is larger, each call is sent alone and its response is streamed. */
const maxBytes = 134_217_728
const maxTries = 3

/** Sends calls in as few requests as the nodes allow; calls that one node cannot answer are sent to others. Settles every call. */
export async function callBatch(pool: Pool, upstreams: UpstreamCaller, open: OpenCall[]): Promise<void> {
  const size = Math.min(...pool.upstreams.map((u) => u.settings.batch))
  const chunks: OpenCall[][] = []
  for (let i = 0; i < open.length; i += size) chunks.push(open.slice(i, i + size))
  await Promise.all(chunks.map((chunk) => callChunk(pool, upstreams, chunk)))
}

async function callChunk(pool: Pool, upstreams: UpstreamCaller, chunk: OpenCall[]): Promise<void> {
  const tried = new Set<Upstream>()
  const policy = combinedPolicy(chunk.map((o) => o.request.policy))
  const kind = kindOf(chunk.length)
  const send = (node: Upstream, signal?: AbortSignal) => sendChunk(node, chunk, kind, signal)
  for (let tries = 0; chunk.length > 1 && tries < maxTries; tries += 1) {
    const first = pool.pick(policy, kind, tried) ?? (tries > 0 ? null : await pool.waitFor(policy, kind, tried))
    if (!first?.takesBatches) break
    tried.add(first)
    const attempt = await upstreams.hedger.send({ first, policy, kind, tried, send })
    if (attempt.kind === 'inconclusive') continue
    const { answers, from } = attempt
    for (const [i, one] of chunk.entries()) {
      const outcome = answers.get(i)
      const result = outcome && classify(outcome, one.request.policy, from, pool)
      if (result?.kind === 'answered') one.settle(result.outcome)
      else
        void upstreams.call(one.request, new Set([from])).then((o) => one.settle(preferNodeReply(o, result?.outcome)))
    }
    return
  }
  // A single call, or no node accepted the batch. A node that takes no batches may still answer single calls.
  const failed = [...tried].filter((node) => node.takesBatches)
  for (const one of chunk) void upstreams.call(one.request, new Set(failed)).then(one.settle)
}

/** Batches are grouped by size for latency statistics, since the size determines how long they take. */
const kindOf = (size: number): string => `batch of ${2 ** Math.ceil(Math.log2(size))}`

/** Prefers an error that a node returned to our own error that no other node was available. */
const preferNodeReply = (outcome: Outcome, before: Outcome | undefined): Outcome =>
  before && outcome.kind === 'error' && outcome.isOurs ? before : outcome

/** The requirements of all calls together. */
function combinedPolicy(plans: readonly CallPolicy[]): CallPolicy {
  const heights = plans.map((p) => p.height)
  const numbers = heights.filter((h) => typeof h === 'number')
  return {
    isSafe: true,
    cacheable: 'never',
    height: heights.includes('head') ? 'head' : numbers.length > 0 ? Math.max(...numbers) : null,
    needsState: plans.some((p) => p.needsState),
  }
}

type Attempt =
  { kind: 'answered'; answers: Map<number, Outcome>; from: Upstream } | { kind: 'inconclusive'; from: Upstream }

/** Resolves with outcomes by index of the call. Never rejects. */
async function sendChunk(
  from: Upstream,
  chunk: readonly OpenCall[],
  kind: string,
  signal?: AbortSignal,
): Promise<Attempt> {
  if (!from.takesBatches) return { kind: 'inconclusive', from }
  const calls = chunk.map(({ request: { method, params } }, id) => ({ jsonrpc: '2.0', id, method, params }))
  const startedMs = performance.now()
  from.inFlight += 1
  from.rate?.owe(chunk.length - 1)
  try {
    const { status, bytes, rest } = await from.post(JSON.stringify(calls), { signal, wholeBytes: maxBytes })
    rest?.destroy()
    if (status >= 300) throw new UpstreamError(`it responded with HTTP ${status}`, true)
    const answers = split(bytes)
    if (!answers) {
      from.takesBatches = false
      return { kind: 'inconclusive', from }
    }
    from.answered(kind, performance.now() - startedMs)
    return { kind: 'answered', answers, from }
  } catch {
    from.failed(kind, performance.now() - startedMs, signal)
    return { kind: 'inconclusive', from }
  } finally {
    from.inFlight -= 1
  }
}

const idOf = /"id"\s*:\s*(\d+)/

/** Outcomes by index of the call; null when the body is not an array. @throws Error when it is not JSON-RPC */
function split(bytes: Buffer): Map<number, Outcome> | null {
  const members = splitArray(bytes)
  if (!members) return null
  const outcomes = new Map<number, Outcome>()
  for (const [index, member] of members.entries()) {
    const answer = readResponse(member)
    outcomes.set(
      idOfMember(member, index),
      'result' in answer
        ? { kind: 'result', json: answer.result }
        : { kind: 'error', error: answer.error, isOurs: false },
    )
  }
  return outcomes
}

/** Nodes may respond in any order. The id nearly always precedes the result or directly follows it. */
function idOfMember(member: Buffer, index: number): number {
  const head = member.toString('latin1', 0, 64)
  const beforeResult = /^[^{]*\{[^{[]*?"(?:result|error)"/.exec(head)?.[0] ?? head
  const found = idOf.exec(beforeResult)
  if (found) return Number(found[1])
  const parsed = JSON.parse(member.toString()) as { id?: unknown }
  return typeof parsed.id === 'number' ? parsed.id : index
}
