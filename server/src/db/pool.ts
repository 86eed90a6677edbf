import { AsyncResource } from 'node:async_hooks'
import pg from 'pg'
import { queryTimeouts } from './query-timeouts.ts'
import { canConnect } from './probe.ts'
import { asUnavailable, DatabaseUnavailable } from './unavailable.ts'

type Callback = (error: unknown, result?: unknown) => void
type Check = (limitMs: number) => Promise<boolean>

/** Detects dead peers on idle connections as well. */
export const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 }

/** Concurrent callers share one check. */
function sharedCheck(url: string): Check {
  let current: Promise<boolean> | null = null
  return (limitMs) => {
    current ??= canConnect(url, limitMs).finally(() => (current = null))
    return current
  }
}

/**
 * A pool that fails with DatabaseUnavailable when the database is unavailable, within the `queryTimeouts` of the caller. A slow
 * query on a database that still responds may take `queryMs`.
 */
export function createPool(options: pg.PoolConfig & { connectionString: string }): pg.Pool {
  return new PoolWithTimeouts({ ...options, ...keepAlive, Client: clientWithTimeouts(options.connectionString) })
}

class PoolWithTimeouts extends pg.Pool {
  // `never` is compatible with all overloads of `query` in the types of pg.
  override query(...given: unknown[]): never {
    return (typeof given.at(-1) === 'function' ? super.query(...(given as [string])) : this.#query(given)) as never
  }

  /** The query method of pg's pool reports a broken connection with the error of its socket instead. */
  async #query(given: unknown[]): Promise<unknown> {
    const client = await this.connect()
    try {
      const result: unknown = await client.query(...(given as [string]))
      client.release()
      return result
    } catch (error) {
      // Do not reuse a connection that is broken or in the middle of a transaction.
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
    // The pool calls back in the async context of another caller; restore this one's.
    const settle = AsyncResource.bind(callback)
    let isSettled = false
    const claimResult = () => {
      if (isSettled) return false
      clearTimeout(timer)
      return (isSettled = true)
    }
    const onTimeout = () => {
      if (!claimResult()) return
      const isFull = this.totalCount >= (this.options.max ?? 0) && this.waitingCount > 0
      const reason = isFull ? 'all connections are in use' : 'it does not respond'
      settle(new DatabaseUnavailable(`The database is unavailable: ${reason}`), undefined, () => {})
    }
    // setImmediate, so that a response received while this process was busy still counts.
    const timer = setTimeout(() => setImmediate(onTimeout), queryTimeouts().connectMs())
    super.connect((error, client, release) => {
      if (!claimResult()) return client ? release() : undefined
      settle(asUnavailable(error) as Error | undefined, client, release)
    })
  }
}

export function clientWithTimeouts(url: string): typeof pg.Client {
  const check = sharedCheck(url)
  return class WatchedClient extends pg.Client {
    #last: Promise<unknown> = Promise.resolve()

    constructor(config?: string | pg.ClientConfig) {
      super(config)
      // Without a listener, a connection that breaks between two statements of a transaction would end the process.
      this.on('error', () => {})
    }

    override query(...given: unknown[]): never {
      return this.#query(given) as never
    }

    #query(given: unknown[]): unknown {
      const send = super.query.bind(this) as unknown as (...args: unknown[]) => unknown
      const [first] = given
      // COPY streams and cursors run at the speed of their reader or writer.
      if (typeof first === 'object' && first !== null && 'submit' in first) return send(...given)
      const last = given.at(-1)
      if (typeof last === 'function') {
        const stopTimeout = this.#startTimeout()
        const callback: Callback = (error, result) => {
          stopTimeout()
          ;(last as Callback)(error ? asUnavailable(error) : error, result)
        }
        return send(...given.slice(0, -1), callback)
      }
      // One at a time: a connection takes one statement at a time.
      const result = this.#last.then(() => this.#send(send, given))
      this.#last = result.catch(() => undefined)
      return result
    }

    async #send(send: (...args: unknown[]) => unknown, given: unknown[]): Promise<unknown> {
      const stopTimeout = this.#startTimeout()
      try {
        return await send(...given)
      } catch (error) {
        throw asUnavailable(error)
      } finally {
        stopTimeout()
      }
    }

    /** Breaks the connection when a query exceeds the `queryTimeouts`. Returns a function that cancels the timeout. */
    #startTimeout(): () => void {
      const { checkAfterMs, checkMs, queryMs } = queryTimeouts()
      const startedMs = performance.now()
      let isStopped = false
      let timer: NodeJS.Timeout
      const checkProgress = async () => {
        const isTooSlow = performance.now() - startedMs >= queryMs
        const isAlive = !isTooSlow && (await check(checkMs))
        if (isStopped) return
        if (isAlive) {
          wait()
          return
        }
        if (isTooSlow) void cancelQuery(url, this)
        const { stream } = (this as unknown as { connection: unknown }).connection as {
          stream: { destroy: (error: Error) => void }
        }
        stream.destroy(new DatabaseUnavailable('The database did not respond in time'))
      }
      const wait = () =>
        void (timer = setTimeout(() => setImmediate(() => void (isStopped || checkProgress())), checkAfterMs))
      wait()
      return () => {
        isStopped = true
        clearTimeout(timer)
      }
    }
  }
}

/** Cancels the running query: Postgres continues it even though the client has disconnected. */
async function cancelQuery(url: string, client: pg.Client): Promise<void> {
  const { processID } = client as unknown as { processID: number }
  const other = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  other.on('error', () => {})
  await other
    .connect()
    .then(() => other.query('select pg_cancel_backend($1)', [processID]))
    .catch(() => undefined)
  await other.end().catch(() => undefined)
}
