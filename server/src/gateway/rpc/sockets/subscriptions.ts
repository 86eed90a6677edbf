import { randomBytes } from 'node:crypto'
import type { ChainService } from '../chain-service.ts'
import { codes, ourError, type Outcome } from '../json-rpc.ts'
import type { Feed, Topic } from './feed.ts'
import { closeCodes, type SocketLimits } from './limits.ts'

export type Subscription = {
  id: string
  kind: Topic['kind']
  /** Notifications that arrived before the client received the id; null from then on. */
  held: string[] | null
  end: () => void
}

export type SubscriptionsOptions = {
  service: ChainService
  feed: Feed
  limits: SocketLimits
  /** Subscriptions of the organization over all of its connections to this gateway. */
  subscriptionsOfOrg: () => number
  /** Sends one notification; `json` is its result. */
  notify: (id: string, json: string) => void
  /** Called when `heldBytes` grows. */
  onHeld: () => void
  close: (code: number, reason: string) => void
}

/** The subscriptions of one connection. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions
  readonly #byId = new Map<string, Subscription>()
  #heldBytes = 0
  #isEnded = false

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#byId.size
  }

  /** Bytes of notifications that wait until the client has received the id of their subscription. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  has(id: string): boolean {
    return this.#byId.has(id)
  }

  countOf(kind: Topic['kind']): number {
    return [...this.#byId.values()].filter((s) => s.kind === kind).length
  }

  /** Adds the new subscription to `created`; call `release` for it when the client has received its id. */
  async subscribe(topic: Topic, created: Subscription[]): Promise<Outcome> {
    const { feed, limits, service, subscriptionsOfOrg } = this.#options
    if (!(await feed.prepare(topic)))
      return ourError(
        codes.unavailable,
        `No node of ${service.pool.chain.title} is responding. Try again in a few seconds.`,
      )
    if (this.#isEnded) return ourError(codes.unavailable, 'The connection is being closed.')
    if (this.#byId.size >= limits.subscriptionsOfConnection)
      return limitReached('connection', limits.subscriptionsOfConnection)
    if (subscriptionsOfOrg() >= limits.subscriptionsOfOrg)
      return limitReached('organization', limits.subscriptionsOfOrg)
    const id = `0x${randomBytes(16).toString('hex')}`
    const subscription: Subscription = { id, kind: topic.kind, held: [], end: () => undefined }
    subscription.end = feed.add(topic, {
      notify: (json) => this.#deliver(subscription, json),
      lost: () =>
        this.#options.close(closeCodes.restart, 'The chain was replaced or rolled back too far. Please reconnect.'),
    })
    this.#byId.set(id, subscription)
    created.push(subscription)
    return { kind: 'result', json: Buffer.from(JSON.stringify(id)) }
  }

  unsubscribe(id: string): Outcome {
    const found = this.#byId.get(id)
    if (!found) return ourError(codes.serverError, 'subscription not found')
    found.end()
    this.#byId.delete(id)
    return { kind: 'result', json: Buffer.from('true') }
  }

  /** Sends the notifications that were held back. */
  release(subscription: Subscription): void {
    const held = subscription.held ?? []
    subscription.held = null
    for (const json of held) {
      this.#heldBytes -= json.length
      this.#options.notify(subscription.id, json)
    }
  }

  end(): void {
    this.#isEnded = true
    for (const { end } of this.#byId.values()) end()
    this.#byId.clear()
  }

  #deliver({ id, held }: Subscription, json: string): void {
    if (!held) return this.#options.notify(id, json)
    held.push(json)
    this.#heldBytes += json.length
    this.#options.onHeld()
  }
}

const limitReached = (of: string, max: number): Outcome =>
  ourError(codes.limitExceeded, `This ${of} has reached its maximum of ${max} subscriptions.`)
