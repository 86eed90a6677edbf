import type { Logger } from 'pino'
import type { Chain } from '../../modules/rpc/index.ts'
import { UpstreamCaller, type Request } from './call-upstream.ts'
import { callBatch } from './call-batch.ts'
import { keyOf, type Cache } from './cache.ts'
import { codes, ourError, type Outcome } from './json-rpc.ts'
import { isRefused, callPolicyOf, type HeadTag, type CallPolicy } from './policy/call-policy.ts'
import { Pool } from './pool.ts'
import type { Block } from './upstream.ts'

type CacheableCall = { method: string; params: unknown }
/** A call that needs a node; `settle` receives its outcome. */
export type OpenCall = { request: Request; key: string | null; settle: (outcome: Outcome) => void }

/**
 * One chain as callers see it. Depending on its policy, a call is answered from the cache, by joining an identical call in flight,
 * or by a node.
 */
export class ChainService {
  readonly pool: Pool
  readonly #cache: Cache
  readonly #upstreams: UpstreamCaller
  /** Calls in flight by key, so that identical calls share one response. */
  readonly #shared = new Map<string, Promise<Outcome>>()
  readonly #headReads = new Map<HeadTag, Promise<Block | null>>()

  constructor(chain: Chain, cache: Cache, log: Logger) {
    this.pool = new Pool(chain, log)
    this.#cache = cache
    this.#upstreams = new UpstreamCaller(this.pool)
  }

  /** Never rejects. */
  answer(call: CacheableCall): Outcome | Promise<Outcome> {
    const notReady = this.pool.ready()
    if (notReady) return notReady.then(() => this.#answer(call))
    return this.#answer(call)
  }

  /** Outcomes in the order of the calls; those that need a node are sent as one batch. Never rejects. */
  async answerAll(calls: readonly CacheableCall[]): Promise<Outcome[]> {
    await this.pool.ready()
    const open: OpenCall[] = []
    const outcomes = calls.map((call) => Promise.resolve(this.#answer(call, open)))
    if (open.length > 0) void callBatch(this.pool, this.#upstreams, open)
    return Promise.all(outcomes)
  }

  close(): Promise<void> {
    return this.pool.close()
  }

  /** With `open`, calls that need a node and may be batched are added to it instead of being sent. */
  #answer({ method, params }: CacheableCall, open?: OpenCall[]): Outcome | Promise<Outcome> {
    const policy = callPolicyOf(this.pool.chain.type, method, params)
    if (isRefused(policy)) return ourError(codes.methodNotFound, policy.refused)
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
    const call = open ? enqueue(open, request, key) : this.#upstreams.call(request)
    const done = call.then((outcome) => {
      this.#shared.delete(key)
      this.#cacheIfFinal(key, policy, outcome)
      return outcome
    })
    this.#shared.set(key, done)
    return done
  }

  /** Answers a call for the head with a fresh reading that is never lower than one served before. */
  async #head(policy: CallPolicy, tag: HeadTag, method: string, params: unknown): Promise<Outcome> {
    const { pool } = this
    const headRead = this.#headReads.get(tag) ?? (tag === 'finalized' ? pool.latestFinal() : pool.latest(policy))
    this.#headReads.set(tag, headRead)
    const block = await headRead.finally(() => this.#headReads.delete(tag))
    if (pool.heads.healthy.length === 0) return this.#upstreams.unavailableError(policy)
    // No node reports finality: pass the call through unchanged.
    if (!block) return this.#upstreams.call({ method, params, policy })
    const pinned = pool.protocol.pinned(tag, block, Array.isArray(params) ? params : [])
    return 'json' in pinned ? { kind: 'result', json: Buffer.from(pinned.json) } : this.#answer(pinned)
  }

  #cacheIfFinal(key: string, policy: CallPolicy, outcome: Outcome): void {
    if (outcome.kind !== 'result' || policy.cacheable === 'never') return
    const { json } = outcome
    // Null, or an empty list for a hash, may become a result later.
    if (json.length <= 4 && (json.toString() === 'null' || (json.toString() === '[]' && policy.height === null))) return
    if (policy.cacheable === 'always' || this.#isFinal(policy, json)) this.#cache.set(key, json)
  }

  /** Skips lookups that cannot hit: they cost as much as small responses do. */
  #mayBeCached({ cacheable: lasts, height }: CallPolicy): boolean {
    return lasts !== 'never' && (typeof height !== 'number' || height <= this.pool.heads.finalNumber)
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

function enqueue(open: OpenCall[], request: Request, key: string): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  open.push({ request, key, settle: resolve })
  return promise
}
