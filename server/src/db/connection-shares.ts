import type pg from 'pg'
import { FairSlots } from '../collections/fair-slots.ts'
import { TooManyQueries } from './unavailable.ts'

/** The part of a pool that requests may use. The rest is for authentication, for gateways, and for background work. */
const requestPart = 0.8
/** The maximum time that a request waits for its owner's share, and the maximum number of such requests of an owner. */
const limits = { maxWaitMs: 10_000, maxWaiting: 250 }

/** The callback of `connect` of a pool. */
export type ConnectCallback = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: unknown) => void,
) => void

/**
 * Shares the connections of a pool between the owners of requests (`setQueryOwner`): an owner whose queries are slow leaves connections for
 * others. Alone, an owner has at most about the square root of the pool's connections, so that many such owners do not take all either.
 */
export class ConnectionShares {
  readonly #slots: FairSlots<string>
  /** Functions that return connections in use to the share of their owner. */
  readonly #used = new WeakMap<pg.PoolClient, () => void>()

  constructor(pool: pg.Pool) {
    const max = Math.max(1, Math.floor((pool.options.max ?? 1) * requestPart))
    this.#slots = new FairSlots(max, Math.ceil(Math.sqrt(max)))
    pool.on('release', (_, client) => {
      this.#used.get(client)?.()
      this.#used.delete(client)
    })
  }

  /** Calls `connect` when the owner may use another connection. Its callback receives TooManyQueries if that takes too long. */
  async connect(owner: string, connect: (callback: ConnectCallback) => void, callback: ConnectCallback): Promise<void> {
    const release = await this.#slots.acquire(owner, limits)
    if (!release)
      return callback(new TooManyQueries('The owner uses its share of the connections'), undefined, () => {})
    connect((error, client, done) => {
      if (client) this.#used.set(client, release)
      else release()
      callback(error, client, done)
    })
  }
}
