import { AsyncResource } from 'node:async_hooks'
import pg from 'pg'
import { queryTimeouts } from './query-timeouts.ts'
import { canConnect } from './probe.ts'
import { asUnavailable, DatabaseUnavailable } from './unavailable.ts'

type Callback = (error: unknown, result?: unknown) => void
type Check = (limitMs: number) => Promise<boolean>

/** Dead peers are noticed on idle connections as well. */
export const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 }

/** Those who ask meanwhile share one answer. */
function sharedCheck(url: string): Check {
  let current: Promise<boolean> | null = null
  return (limitMs) => {
    current ??= canConnect(url, limitMs).finally(() => (current = null))
    return current
  }
}

/**
 * A pool whose connections and questions end with DatabaseUnavailable when the database is away, as soon as the `patience` of whoever
 * asks says so. A question that takes long while the database lives is left alone until `questionMs`.
 */
export function createPool(options: pg.PoolConfig & { connectionString: string }): pg.Pool {
  return new PoolWithTimeouts({ ...options, ...keepAlive, Client: clientWithTimeouts(options.connectionString) })
}

class PoolWithTimeouts extends pg.Pool {
  // The overloads of `query` in pg's types cannot be said again in a line.
  override query(...given: unknown[]): never {
    return (typeof given.at(-1) === 'function' ? super.query(...(given as [string])) : this.#query(given)) as never
  }

  /** The pool's own one answers a connection that broke with the error of its socket. */
  async #query(given: unknown[]): Promise<unknown> {
    const client = await this.connect()
    try {
      const result: unknown = await client.query(...(given as [string]))
      client.release()
      return result
    } catch (error) {
      // One that is broken, or left in the middle of a transaction, is of no use to others.
      client.release(error instanceof DatabaseUnavailable || client.getTransactionStatus() !== 'I')
      throw error
    }
  }

  override connect(): Promise<pg.PoolClient>
  override connect(
    callback: (error: Error | undefined, client: pg.PoolClient | undefined, done: (release?: unknown) => void) => void,
  ): void
  override connect(
    callback?: (error: Error | undefined, client: pg.PoolClient | undefined, done: (release?: unknown) => void) => void,
  ): Promise<pg.PoolClient> | void {
    if (!callback)
      return new Promise((done, failed) =>
        this.connect((error, client) => (client ? done(client) : failed(error ?? new Error('No connection')))),
      )
    // The pool calls back from whatever runs then.
    const answer = AsyncResource.bind(callback)
    let isDecided = false
    const decide = () => {
      if (isDecided) return false
      clearTimeout(timer)
      return (isDecided = true)
    }
    const giveUp = () => {
      if (!decide()) return
      const isFull = this.totalCount >= (this.options.max ?? 0) && this.waitingCount > 0
      const why = isFull ? 'all connections are in use' : 'it does not answer'
      answer(new DatabaseUnavailable(`The database cannot be asked now: ${why}`), undefined, () => {})
    }
    // An answer that has arrived while this process was busy counts.
    const timer = setTimeout(() => setImmediate(giveUp), queryTimeouts().connectMs())
    super.connect((error, client, release) => {
      if (!decide()) return client ? release() : undefined
      answer(asUnavailable(error) as Error | undefined, client, release)
    })
  }
}

export function clientWithTimeouts(url: string): typeof pg.Client {
  const check = sharedCheck(url)
  return class WatchedClient extends pg.Client {
    #last: Promise<unknown> = Promise.resolve()

    constructor(config?: string | pg.ClientConfig) {
      super(config)
      // A connection that breaks between two statements of a transaction has no other listener, which would end the process.
      this.on('error', () => {})
    }

    override query(...given: unknown[]): never {
      return this.#query(given) as never
    }

    #query(given: unknown[]): unknown {
      const ask = super.query.bind(this) as unknown as (...args: unknown[]) => unknown
      const [first] = given
      // Streams of COPY and cursors take as long as their other end.
      if (typeof first === 'object' && first !== null && 'submit' in first) return ask(...given)
      const last = given.at(-1)
      if (typeof last === 'function') {
        const end = this.#watch()
        const answered: Callback = (error, result) => {
          end()
          ;(last as Callback)(error ? asUnavailable(error) : error, result)
        }
        return ask(...given.slice(0, -1), answered)
      }
      // One after the other: a connection takes one statement at a time.
      const answer = this.#last.then(() => this.#ask(ask, given))
      this.#last = answer.catch(() => undefined)
      return answer
    }

    async #ask(ask: (...args: unknown[]) => unknown, given: unknown[]): Promise<unknown> {
      const end = this.#watch()
      try {
        return await ask(...given)
      } catch (error) {
        throw asUnavailable(error)
      } finally {
        end()
      }
    }

    /** Breaks the connection when its question outlasts the patience. Answers how to stop watching. */
    #watch(): () => void {
      const { checkAfterMs, checkMs, queryMs: questionMs } = queryTimeouts()
      const startedMs = performance.now()
      let isOver = false
      let timer: NodeJS.Timeout
      const look = async () => {
        const isSlow = performance.now() - startedMs >= questionMs
        const isAlive = !isSlow && (await check(checkMs))
        if (isOver) return
        if (isAlive) {
          wait()
          return
        }
        if (isSlow) void cancel(url, this)
        const { stream } = (this as unknown as { connection: unknown }).connection as {
          stream: { destroy: (error: Error) => void }
        }
        stream.destroy(new DatabaseUnavailable('The database did not answer in time'))
      }
      const wait = () => void (timer = setTimeout(() => setImmediate(() => void (isOver || look())), checkAfterMs))
      wait()
      return () => {
        isOver = true
        clearTimeout(timer)
      }
    }
  }
}

/** Postgres does not notice by itself that nobody waits for a question any more. */
async function cancel(url: string, client: pg.Client): Promise<void> {
  const { processID } = client as unknown as { processID: number }
  const other = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  other.on('error', () => {})
  await other
    .connect()
    .then(() => other.query('select pg_cancel_backend($1)', [processID]))
    .catch(() => undefined)
  await other.end().catch(() => undefined)
}
