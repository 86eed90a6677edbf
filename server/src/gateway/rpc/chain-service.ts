import type { Logger } from 'pino'
import type { Chain } from '../../modules/rpc/index.ts'
import { UpstreamCaller, type Request } from './call-upstream.ts'
import { callBatch } from './call-batch.ts'
import { keyOf, type Cache } from './cache.ts'
import { codes, ourError, type Outcome } from './json-rpc.ts'
import { isRefused, callPolicyOf, type HeadTag, type CallPolicy } from './call-policy.ts'
import { Pool } from './pool.ts'
import type { Block } from './upstream.ts'

type CacheableCall = { method: string; params: unknown }
/** What is left to ask of a node, and where to put what it says. */
export type OpenCall = { request: Request; key: string | null; settle: (outcome: Outcome) => void }

/**
 * One chain as callers see it. A call is answered from the cache, by waiting with others for the same answer, or by a node; which
 * of these is decided by its plan.
 */
export class ChainService {
  readonly pool: Pool
  readonly #cache: Cache
  readonly #asker: UpstreamCaller
  /** Calls that are under way, for others that ask the same. */
  readonly #shared = new Map<string, Promise<Outcome>>()
  readonly #looks = new Map<HeadTag, Promise<Block | null>>()

  constructor(chain: Chain, cache: Cache, log: Logger) {
    this.pool = new Pool(chain, log)
    this.#cache = cache
    this.#asker = new UpstreamCaller(this.pool)
  }

  /** Never rejects. */
  answer(call: CacheableCall): Outcome | Promise<Outcome> {
    const notReady = this.pool.ready()
    if (notReady) return notReady.then(() => this.#answer(call))
    return this.#answer(call)
  }

  /** In the order of the calls; what has to be asked is asked in one batch. Never rejects. */
  async answerAll(calls: readonly CacheableCall[]): Promise<Outcome[]> {
    await this.pool.ready()
    const open: OpenCall[] = []
    const outcomes = calls.map((call) => Promise.resolve(this.#answer(call, open)))
    if (open.length > 0) void callBatch(this.pool, this.#asker, open)
    return Promise.all(outcomes)
  }

  close(): Promise<void> {
    return this.pool.close()
  }

  /** With `open`, what needs a node and can wait for others is left there. */
  #answer({ method, params }: CacheableCall, open?: OpenCall[]): Outcome | Promise<Outcome> {
    const plan = callPolicyOf(this.pool.chain.type, method, params)
    if (isRefused(plan)) return ourError(codes.methodNotFound, plan.refused)
    if (plan.head) return this.#head(plan, plan.head, method, params)
    const request = { method, params, plan }
    if (!plan.isSafe) return this.#asker.ask(request)
    const key = keyOf(this.pool.heads.identity ?? '', method, params)
    if (this.#mayBeKept(plan)) {
      const json = this.#cache.get(key)
      if (json) return { kind: 'result', json }
    }
    const shared = this.#shared.get(key)
    if (shared) return shared.then((outcome) => (outcome.kind === 'stream' ? this.#asker.ask(request) : outcome))
    const asking = open ? later(open, request, key) : this.#asker.ask(request)
    const done = asking.then((outcome) => {
      this.#shared.delete(key)
      this.#keep(key, plan, outcome)
      return outcome
    })
    this.#shared.set(key, done)
    return done
  }

  /** What the newest block is, asked now, never lower than what was said before (design: served heads do not go back). */
  async #head(plan: CallPolicy, tag: HeadTag, method: string, params: unknown): Promise<Outcome> {
    const { pool } = this
    const looking = this.#looks.get(tag) ?? (tag === 'finalized' ? pool.latestFinal() : pool.latest(plan))
    this.#looks.set(tag, looking)
    const block = await looking.finally(() => this.#looks.delete(tag))
    if (pool.heads.healthy.length === 0) return this.#asker.noNode(plan)
    // Nobody says what is final here: whatever the node makes of it.
    if (!block) return this.#asker.ask({ method, params, plan })
    const pinned = pool.protocol.pinned(tag, block, Array.isArray(params) ? params : [])
    return 'json' in pinned ? { kind: 'result', json: Buffer.from(pinned.json) } : this.#answer(pinned)
  }

  #keep(key: string, plan: CallPolicy, outcome: Outcome): void {
    if (outcome.kind !== 'result' || plan.lasts === 'never') return
    const { json } = outcome
    // Nothing, or an empty list by hash, may be something later.
    if (json.length <= 4 && (json.toString() === 'null' || (json.toString() === '[]' && plan.height === null))) return
    if (plan.lasts === 'always' || this.#isFinal(plan, json)) this.#cache.set(key, json)
  }

  /** Looking for what cannot be there would cost as much as small answers do. */
  #mayBeKept({ lasts, height }: CallPolicy): boolean {
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

function later(open: OpenCall[], request: Request, key: string): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  open.push({ request, key, settle: resolve })
  return promise
}
