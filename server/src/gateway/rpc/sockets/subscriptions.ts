import { randomBytes } from 'node:crypto'
import type { ChainService } from '../chain-service.ts'
import { codes, gatewayError, type RpcOutcome } from '../json-rpc.ts'
import type { Feed, Topic } from './feed.ts'
import { closeCodes, type SocketLimits } from './limits.ts'

/** One subscription of a connection. */
export type Subscription = {
  id: string
  kind: Topic['kind']
  /** Notifications that wait until the client has received the id; null afterwards. */
  pending: string[] | null
  /** Ends the subscription at its feed. */
  end: () => void
}

/** What the subscriptions of a connection need from it. */
export type SubscriptionsOptions = {
  service: ChainService
  feed: Feed
  limits: SocketLimits
  /** Returns the number of subscriptions of the organization over all of its connections to this gateway. */
  countOrgSubscriptions: () => number
  /** Sends one notification; `json` is its result. */
  notify: (id: string, json: string) => void
  /** Called when `pendingBytes` grows. */
  onPending: () => void
  close: (code: number, reason: string) => void
}

/** The subscriptions of one connection. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions
  readonly #byId = new Map<string, Subscription>()
  #pendingBytes = 0
  #isEnded = false

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#byId.size
  }

  /** Bytes of notifications that wait until the client has received the id of their subscription. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  has(id: string): boolean {
    return this.#byId.has(id)
  }

  countOf(kind: Topic['kind']): number {
    return [...this.#byId.values()].filter((s) => s.kind === kind).length
  }

  /**
   * Starts a subscription and returns its id, or an error. Adds the subscription to `created`. Call `release` for it
   * when the client has received its id.
   */
  async subscribe(topic: Topic, created: Subscription[]): Promise<RpcOutcome> {
    const { feed, limits, service, countOrgSubscriptions } = this.#options
    if (!(await feed.prepare(topic)))
      return gatewayError(
        codes.unavailable,
        `No node of ${service.pool.chain.title} is responding. Try again in a few seconds.`,
      )
    if (this.#isEnded) return gatewayError(codes.unavailable, 'The connection is being closed.')
    if (this.#byId.size >= limits.subscriptionsPerConnection)
      return limitReached('connection', limits.subscriptionsPerConnection)
    if (countOrgSubscriptions() >= limits.subscriptionsPerOrg)
      return limitReached('organization', limits.subscriptionsPerOrg)
    const id = `0x${randomBytes(16).toString('hex')}`
    const subscription: Subscription = { id, kind: topic.kind, pending: [], end: () => undefined }
    subscription.end = feed.add(topic, {
      notify: (json) => this.#deliver(subscription, json),
      onLost: () =>
        this.#options.close(closeCodes.restart, 'The chain was replaced or rolled back too far. Please reconnect.'),
    })
    this.#byId.set(id, subscription)
    created.push(subscription)
    return { kind: 'result', json: Buffer.from(JSON.stringify(id)) }
  }

  /** Ends a subscription. Returns `true`, or the error of nodes for an unknown id. */
  unsubscribe(id: string): RpcOutcome {
    const subscription = this.#byId.get(id)
    if (!subscription) return gatewayError(codes.serverError, 'subscription not found')
    subscription.end()
    this.#byId.delete(id)
    return { kind: 'result', json: Buffer.from('true') }
  }

  /** Sends the pending notifications. */
  release(subscription: Subscription): void {
    const pending = subscription.pending ?? []
    subscription.pending = null
    for (const json of pending) {
      this.#pendingBytes -= json.length
      this.#options.notify(subscription.id, json)
    }
  }

  /** Ends all subscriptions, and prevents new ones. */
  end(): void {
    this.#isEnded = true
    for (const { end } of this.#byId.values()) end()
    this.#byId.clear()
  }

  #deliver({ id, pending }: Subscription, json: string): void {
    if (!pending) return this.#options.notify(id, json)
    pending.push(json)
    this.#pendingBytes += json.length
    this.#options.onPending()
  }
}

const limitReached = (owner: string, max: number): RpcOutcome =>
  gatewayError(codes.limitExceeded, `This ${owner} has reached its maximum of ${max} subscriptions.`)
