import { FairSlots } from '@shoal/runtime'
import type pg from 'pg'
import { admissionPrefix, queryTimeouts } from './query-timeouts.ts'
import { DatabaseUnavailable, TooManyQueries } from './unavailable.ts'

/** The part of a pool that requests may use. The rest is for authentication, for gateways, and for background work. */
const requestPart = 0.8
/** The part of a pool that the authentication of requests may use. Its queries are short. */
const admissionPart = 0.4
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
 * Before a request is authenticated, its owner is its address, which has at most half of the connections for authentication.
 */
export class ConnectionShares {
  readonly #slots: FairSlots<string>
  readonly #admissionSlots: FairSlots<string>
  /** Functions that return connections in use to the share of their owner. */
  readonly #used = new WeakMap<pg.PoolClient, () => void>()

  constructor(pool: pg.Pool) {
    const max = Math.max(1, Math.floor((pool.options.max ?? 1) * requestPart))
    this.#slots = new FairSlots(max, Math.ceil(Math.sqrt(max)))
    const maxAdmission = Math.max(1, Math.floor((pool.options.max ?? 1) * admissionPart))
    this.#admissionSlots = new FairSlots(maxAdmission, Math.ceil(maxAdmission / 2))
    pool.on('release', (_, client) => {
      this.#used.get(client)?.()
      this.#used.delete(client)
    })
  }

  /**
   * Calls `connect` when the owner may use another connection. Its callback receives TooManyQueries if that takes too long, or
   * DatabaseUnavailable before the request is authenticated, since then the database may not respond.
   */
  async connect(owner: string, connect: (callback: ConnectCallback) => void, callback: ConnectCallback): Promise<void> {
    const isAdmission = owner.startsWith(admissionPrefix)
    const release = isAdmission
      ? await this.#admissionSlots.acquire(owner, { maxWaitMs: queryTimeouts().connectMs() })
      : await this.#slots.acquire(owner, limits)
    if (!release) {
      const message = 'The owner uses its share of the connections'
      return callback(isAdmission ? new DatabaseUnavailable(message) : new TooManyQueries(message), undefined, () => {})
    }
    connect((error, client, done) => {
      if (client) this.#used.set(client, release)
      else release()
      callback(error, client, done)
    })
  }
}
