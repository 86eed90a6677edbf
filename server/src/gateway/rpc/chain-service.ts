import type { Logger } from 'pino'
import type { Chain } from '../../modules/chains/index.ts'
import { UpstreamCaller, type UpstreamRequest } from './call-upstream.ts'
import { callBatch } from './call-batch.ts'
import { keyOf, type Cache } from './cache.ts'
import { codes, gatewayError, type RpcOutcome } from './json-rpc.ts'
import { isRejected, callPolicyOf, type HeadTag, type CallPolicy } from './policy/call-policy.ts'
import { Pool } from './pool.ts'
import type { Block } from './upstream.ts'

type CacheableCall = { method: string; params: unknown }
/** A call to send to a node. `key`: its key in the cache. `settle` receives its outcome. */
export type PendingCall = { request: UpstreamRequest; key: string | null; settle: (outcome: RpcOutcome) => void }

/**
 * Executes calls on one chain. Depending on its policy, a call gets its result from the cache, from an identical call in flight, or
 * from a node.
 */
export class ChainService {
  readonly pool: Pool
  readonly #cache: Cache
  readonly #upstreams: UpstreamCaller
  /** Calls in flight by key, so that identical calls share one response. */
  readonly #shared = new Map<string, Promise<RpcOutcome>>()
  readonly #headReads = new Map<HeadTag, Promise<Block | null>>()

  constructor(chain: Chain, cache: Cache, log: Logger) {
    this.pool = new Pool(chain, log)
    this.#cache = cache
    this.#upstreams = new UpstreamCaller(this.pool)
  }

  /** Executes one call. Never rejects. */
  execute(call: CacheableCall): RpcOutcome | Promise<RpcOutcome> {
    const whenReady = this.pool.ready()
    if (whenReady) return whenReady.then(() => this.#execute(call))
    return this.#execute(call)
  }

  /** Resolves with the outcomes in the order of the calls. Calls that need a node are sent as one batch. Never rejects. */
  async executeAll(calls: readonly CacheableCall[]): Promise<RpcOutcome[]> {
    await this.pool.ready()
    const pending: PendingCall[] = []
    const outcomes = calls.map((call) => Promise.resolve(this.#execute(call, pending)))
    if (pending.length > 0) void callBatch(this.pool, this.#upstreams, pending)
    return Promise.all(outcomes)
  }

  close(): Promise<void> {
    return this.pool.close()
  }

  /** @param pending if given, calls that need a node and may be batched are added to it instead of being sent */
  #execute({ method, params }: CacheableCall, pending?: PendingCall[]): RpcOutcome | Promise<RpcOutcome> {
    const policy = callPolicyOf(this.pool.chain.type, method, params)
    if (isRejected(policy)) return gatewayError(codes.methodNotFound, policy.reason)
    if (policy.head) return this.#head(policy, policy.head, method, params)
    const request = { method, params, policy }
    if (!policy.isSafe) return this.#upstreams.call(request)
    const key = keyOf(this.pool.heads.identity ?? '', method, params)
    if (this.#mayBeCached(policy)) {
      const json = this.#cache.get(key)
      if (json) return { kind: 'result', json }
    }
    const shared = this.#shared.get(key)
    if (shared) return shared.then((outcome) => (outcome.kind === 'stream' ? this.#upstreams.call(request) : outcome))
    const call = pending ? enqueue(pending, request, key) : this.#upstreams.call(request)
    const completed = call.then((outcome) => {
      this.#shared.delete(key)
      this.#cacheIfFinal(key, policy, outcome)
      return outcome
    })
    this.#shared.set(key, completed)
    return completed
  }

  /** Executes a call for the head. Reads the head now, and never returns a lower one than before. */
  async #head(policy: CallPolicy, tag: HeadTag, method: string, params: unknown): Promise<RpcOutcome> {
    const { pool } = this
    const headRead = this.#headReads.get(tag) ?? (tag === 'finalized' ? pool.latestFinal() : pool.latest(policy))
    this.#headReads.set(tag, headRead)
    const block = await headRead.finally(() => this.#headReads.delete(tag))
    if (pool.heads.healthy.length === 0) return this.#upstreams.unavailableError(policy)
    // No node reports finality: the call is sent unchanged.
    if (!block) return this.#upstreams.call({ method, params, policy })
    const pinned = pool.protocol.pinToBlock(tag, block, Array.isArray(params) ? params : [])
    return 'json' in pinned ? { kind: 'result', json: Buffer.from(pinned.json) } : this.#execute(pinned)
  }

  #cacheIfFinal(key: string, policy: CallPolicy, outcome: RpcOutcome): void {
    if (outcome.kind !== 'result' || policy.cacheable === 'never') return
    const { json } = outcome
    // Null is not cached, and neither is an empty list for a block given by its hash: a later response may contain a result.
    if (json.length <= 4 && (json.toString() === 'null' || (json.toString() === '[]' && policy.height === null))) return
    if (policy.cacheable === 'always' || this.#isFinal(policy, json)) this.#cache.set(key, json)
  }

  /** False for calls that are never in the cache. Looking these up would cost as much as a small response. */
  #mayBeCached({ cacheable, height }: CallPolicy): boolean {
    return cacheable !== 'never' && (typeof height !== 'number' || height <= this.pool.heads.finalNumber)
  }

  #isFinal({ height }: CallPolicy, json: Buffer): boolean {
    const final = this.pool.heads.finalNumber
    if (typeof height === 'number') return height <= final
    try {
      const block = this.pool.protocol.blockOf(JSON.parse(json.toString()))
      return block !== null && block <= final
    } catch {
      return false
    }
  }
}

function enqueue(pending: PendingCall[], request: UpstreamRequest, key: string): Promise<RpcOutcome> {
  const { promise, resolve } = Promise.withResolvers<RpcOutcome>()
  pending.push({ request, key, settle: resolve })
  return promise
}
