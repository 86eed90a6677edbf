import { AsyncResource } from 'node:async_hooks'
import pg from 'pg'
import { pause } from './every.ts'
import { ConnectionShares, type ConnectCallback } from './connection-shares.ts'
import { queryOwner, queryTimeouts } from './query-timeouts.ts'
import { recordStatement } from './slow-statements.ts'
import { canConnect } from './probe.ts'
import { asUnavailable, DatabaseUnavailable } from './unavailable.ts'

type Callback = (error: unknown, result?: unknown) => void
/** Whether the database accepts a connection within `limitMs`. */
type Check = (limitMs: number) => Promise<boolean>

/** Options with which a connection detects that its peer no longer responds, even while it is idle. */
export const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 }

/** Returns a check of the database. Concurrent callers share one check. */
function sharedCheck(url: string): Check {
  let current: Promise<boolean> | null = null
  return (limitMs) => {
    current ??= canConnect(url, limitMs).finally(() => (current = null))
    return current
  }
}

/**
 * Creates a pool whose queries fail with DatabaseUnavailable while the database is unavailable, within the `queryTimeouts` of the
 * caller. A slow query on a database that still responds may take `queryMs`.
 */
export function createPool(options: pg.PoolConfig & { connectionString: string }): pg.Pool {
  const pool = new PoolWithTimeouts({ ...options, ...keepAlive, Client: clientWithTimeouts(options.connectionString) })
  trackClients(pool)
  return pool
}

/**
 * Ends all connections. Waits up to `timeoutMs` for those in use; then cancels their queries and breaks them, so that a server can stop
 * even if Postgres does not respond or a query does not end.
 */
export async function closePool(pool: pg.Pool, timeoutMs: number): Promise<void> {
  const ended = pool.end().then(() => true)
  const timeout = new AbortController()
  const isEnded = await Promise.race([ended, pause(timeoutMs, timeout.signal).then(() => false)])
  if (isEnded) return timeout.abort()
  const { connectionString = '' } = pool.options
  const clients = [...(openClients.get(pool) ?? [])]
  const canceled = Promise.all(clients.map((client) => cancelQuery(connectionString, client)))
  await Promise.race([canceled, pause(maxCancelMs, timeout.signal)])
  for (const client of clients) breakConnection(client, 'The connections to the database were closed')
  await Promise.race([ended, pause(maxCancelMs, timeout.signal)])
  timeout.abort()
}

const maxCancelMs = 1_000

/** The connected clients of each pool. */
const openClients = new WeakMap<pg.Pool, Set<pg.PoolClient>>()

function trackClients(pool: pg.Pool): void {
  const clients = new Set<pg.PoolClient>()
  openClients.set(pool, clients)
  pool.on('connect', (client) => void clients.add(client))
  pool.on('remove', (client) => void clients.delete(client))
}

/** Whether Postgres ends the connection with this error, such as that of altering a database that is being dropped. */
const endsConnection = (error: unknown) => error instanceof pg.DatabaseError && error.severity === 'FATAL'

/** Destroys the connection of a client, so that its query in progress fails with `reason`. */
function breakConnection(client: pg.ClientBase, reason: string): void {
  const { stream } = (client as unknown as { connection: { stream: { destroy: (error: Error) => void } } }).connection
  stream.destroy(new DatabaseUnavailable(reason))
}

class PoolWithTimeouts extends pg.Pool {
  readonly #shares = new ConnectionShares(this)

  // `never` is compatible with all overloads of `query` in the types of pg.
  override query(...args: unknown[]): never {
    return (typeof args.at(-1) === 'function' ? super.query(...(args as [string])) : this.#query(args)) as never
  }

  /** Replaces the query method of pg's pool, which reports a broken connection with the error of the socket. */
  async #query(args: unknown[]): Promise<unknown> {
    const client = await this.connect()
    try {
      const result: unknown = await client.query(...(args as [string]))
      client.release()
      return result
    } catch (error) {
      // Do not reuse a connection that is broken or in the middle of a transaction.
      const isBroken = error instanceof DatabaseUnavailable || endsConnection(error)
      client.release(isBroken || client.getTransactionStatus() !== 'I')
      throw error
    }
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    if (!callback)
      return new Promise((resolve, reject) =>
        this.connect((error, client) => (client ? resolve(client) : reject(error ?? new Error('No connection')))),
      )
    const owner = queryOwner()
    if (owner === null) this.#connect(callback)
    else void this.#shares.connect(owner, (connected) => this.#connect(connected), callback)
  }

  #connect(callback: ConnectCallback): void {
    // The pool calls back in the async context of another caller; restore the context of this caller.
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

/**
 * Returns a class of clients whose queries fail with DatabaseUnavailable while the database at `url` is unavailable, within the
 * `queryTimeouts` of the caller.
 */
export function clientWithTimeouts(url: string): typeof pg.Client {
  const check = sharedCheck(url)
  return class WatchedClient extends pg.Client {
    #lastQuery: Promise<unknown> = Promise.resolve()

    constructor(config?: string | pg.ClientConfig) {
      super(config)
      // Without a listener, a connection that breaks between two statements of a transaction would end the process.
      this.on('error', () => {})
    }

    override query(...args: unknown[]): never {
      return this.#query(args) as never
    }

    #query(args: unknown[]): unknown {
      const send = super.query.bind(this) as unknown as (...args: unknown[]) => unknown
      const [query] = args
      // COPY streams and cursors have no timeout, because they run at the speed of their reader or writer.
      if (typeof query === 'object' && query !== null && 'submit' in query) return send(...args)
      const text = typeof query === 'string' ? query : (query as { text?: unknown } | null)?.text
      const callerCallback = args.at(-1)
      if (typeof callerCallback === 'function') {
        const stopTimeout = this.#startTimeout(text)
        const callback: Callback = (error, result) => {
          stopTimeout()
          ;(callerCallback as Callback)(error ? this.#checkError(error) : error, result)
        }
        return send(...args.slice(0, -1), callback)
      }
      // A connection can execute only one statement at a time.
      const result = this.#lastQuery.then(() => this.#send(send, args, text))
      this.#lastQuery = result.catch(() => undefined)
      return result
    }

    async #send(send: (...args: unknown[]) => unknown, args: unknown[], text: unknown): Promise<unknown> {
      const stopTimeout = this.#startTimeout(text)
      try {
        return await send(...args)
      } catch (error) {
        throw this.#checkError(error)
      } finally {
        stopTimeout()
      }
    }

    /** Breaks the connection if Postgres ends it with this error, so that the pool does not use it again. Returns the error for the caller. */
    #checkError(error: unknown): unknown {
      if (endsConnection(error)) breakConnection(this, 'Postgres ended the connection')
      return asUnavailable(error)
    }

    /** Breaks the connection when a query exceeds the `queryTimeouts`. Returns a function to call at the end of the query. */
    #startTimeout(text: unknown): () => void {
      const { checkAfterMs, checkMs, queryMs } = queryTimeouts()
      const startedMs = performance.now()
      let isStopped = false
      let timer: NodeJS.Timeout
      const checkProgress = async () => {
        const isTooSlow = performance.now() - startedMs >= queryMs
        const isAlive = !isTooSlow && (await check(checkMs))
        if (isStopped) return
        if (isAlive) {
          scheduleCheck()
          return
        }
        if (isTooSlow) void cancelQuery(url, this)
        breakConnection(this, 'The database did not respond in time')
      }
      const scheduleCheck = () =>
        void (timer = setTimeout(() => setImmediate(() => void (isStopped || checkProgress())), checkAfterMs))
      scheduleCheck()
      return () => {
        isStopped = true
        clearTimeout(timer)
        recordStatement(url, text, performance.now() - startedMs)
      }
    }
  }
}

/** Cancels the running query, which Postgres would otherwise continue although the client has disconnected. */
async function cancelQuery(url: string, client: pg.ClientBase): Promise<void> {
  const { processID } = client as unknown as { processID: number }
  const cancelClient = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  cancelClient.on('error', () => {})
  await cancelClient
    .connect()
    .then(() => cancelClient.query('select pg_cancel_backend($1)', [processID]))
    .catch(() => undefined)
  await cancelClient.end().catch(() => undefined)
}
