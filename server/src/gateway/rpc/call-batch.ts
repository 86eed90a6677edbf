import { judged, type UpstreamCaller } from './call-upstream.ts'
import type { OpenCall } from './chain-service.ts'
import type { Outcome } from './json-rpc.ts'
import type { CallPolicy } from './call-policy.ts'
import type { Pool } from './pool.ts'
import { readAnswer, splitArray } from './raw-json.ts'
import { UpstreamError, type Upstream } from './upstream.ts'

/** A batch of answers is held in memory; when it is larger, each call is asked on its own and streamed. */
const maxBytes = 134_217_728
const maxTries = 3

/** Asks for many answers in as few requests as the nodes allow; what one node cannot answer is asked of others. Settles all. */
export async function callBatch(pool: Pool, asker: UpstreamCaller, open: OpenCall[]): Promise<void> {
  const size = Math.min(...pool.upstreams.map((u) => u.settings.batch))
  const chunks: OpenCall[][] = []
  for (let i = 0; i < open.length; i += size) chunks.push(open.slice(i, i + size))
  await Promise.all(chunks.map((chunk) => callChunk(pool, asker, chunk)))
}

async function callChunk(pool: Pool, asker: UpstreamCaller, chunk: OpenCall[]): Promise<void> {
  const tried = new Set<Upstream>()
  const plan = planOfAll(chunk.map((o) => o.request.plan))
  const kind = kindOf(chunk.length)
  const send = (node: Upstream, signal?: AbortSignal) => sendChunk(node, chunk, kind, signal)
  for (let tries = 0; chunk.length > 1 && tries < maxTries; tries += 1) {
    const first = pool.pick(plan, kind, tried) ?? (tries > 0 ? null : await pool.await(plan, kind, tried))
    if (!first?.takesBatches) break
    tried.add(first)
    const attempt = await asker.hedger.ask({ first, plan, kind, tried, send })
    if (attempt.kind === 'weak') continue
    const { answers, from } = attempt
    for (const [i, one] of chunk.entries()) {
      const outcome = answers.get(i)
      const judgement = outcome && judged(outcome, one.request.plan, from, pool)
      if (judgement?.kind === 'answered') one.settle(judgement.outcome)
      else void asker.ask(one.request, new Set([from])).then((o) => one.settle(better(o, judgement?.outcome)))
    }
    return
  }
  // One alone, or no node took them together. One that takes no batches has not failed at the calls.
  const failed = [...tried].filter((node) => node.takesBatches)
  for (const one of chunk) void asker.ask(one.request, new Set(failed)).then(one.settle)
}

/** Batches of about the same size take about as long. */
const kindOf = (size: number): string => `batch of ${2 ** Math.ceil(Math.log2(size))}`

/** What a node said, rather than that no other could be asked. */
const better = (outcome: Outcome, before: Outcome | undefined): Outcome =>
  before && outcome.kind === 'error' && outcome.isOurs ? before : outcome

/** What a node must have for all of them. */
function planOfAll(plans: readonly CallPolicy[]): CallPolicy {
  const heights = plans.map((p) => p.height)
  const numbers = heights.filter((h) => typeof h === 'number')
  return {
    isSafe: true,
    lasts: 'never',
    height: heights.includes('head') ? 'head' : numbers.length > 0 ? Math.max(...numbers) : null,
    needsState: plans.some((p) => p.needsState),
  }
}

type Attempt = { kind: 'answered'; answers: Map<number, Outcome>; from: Upstream } | { kind: 'weak'; from: Upstream }

/** The answers by their place. */
async function sendChunk(
  from: Upstream,
  chunk: readonly OpenCall[],
  kind: string,
  signal?: AbortSignal,
): Promise<Attempt> {
  if (!from.takesBatches) return { kind: 'weak', from }
  const calls = chunk.map(({ request: { method, params } }, id) => ({ jsonrpc: '2.0', id, method, params }))
  const startedMs = performance.now()
  from.inFlight += 1
  from.rate?.owe(chunk.length - 1)
  try {
    const { status, bytes, rest } = await from.post(JSON.stringify(calls), { signal, wholeBytes: maxBytes })
    rest?.destroy()
    if (status >= 300) throw new UpstreamError(`it answered with HTTP ${status}`, true)
    const answers = split(bytes)
    if (!answers) {
      from.takesBatches = false
      return { kind: 'weak', from }
    }
    from.answered(kind, performance.now() - startedMs)
    return { kind: 'answered', answers, from }
  } catch {
    from.failed(kind, performance.now() - startedMs, signal)
    return { kind: 'weak', from }
  } finally {
    from.inFlight -= 1
  }
}

const idOf = /"id"\s*:\s*(\d+)/

/** Null when it is no answer to a batch. @throws Error when it is not JSON-RPC */
function split(bytes: Buffer): Map<number, Outcome> | null {
  const members = splitArray(bytes)
  if (!members) return null
  const outcomes = new Map<number, Outcome>()
  for (const [place, member] of members.entries()) {
    const answer = readAnswer(member)
    outcomes.set(
      idOfMember(member, place),
      'result' in answer
        ? { kind: 'result', json: answer.result }
        : { kind: 'error', error: answer.error, isOurs: false },
    )
  }
  return outcomes
}

/** Nodes may answer in any order. The id stands before the result or right behind it, hardly ever elsewhere. */
function idOfMember(member: Buffer, place: number): number {
  const head = member.toString('latin1', 0, 64)
  const beforeResult = /^[^{]*\{[^{[]*?"(?:result|error)"/.exec(head)?.[0] ?? head
  const found = idOf.exec(beforeResult)
  if (found) return Number(found[1])
  const parsed = JSON.parse(member.toString()) as { id?: unknown }
  return typeof parsed.id === 'number' ? parsed.id : place
}
