import type { Client } from 'pg'
import type { Logger } from 'pino'
import type { Database } from './database.ts'
import { pause } from './every.ts'
import { keepAlive, clientWithTimeouts } from './pool.ts'

/** The delay before a process tries again to become the leader, or to continue after an error. */
const retryMs = 1_000

/**
 * A connection that holds advisory locks. Postgres releases them when the connection ends: immediately if the process is killed,
 * within half a minute if its machine vanishes.
 */
type LeaseConnection = { client: Client; lost: AbortSignal }

/** Opens a connection for advisory locks. @throws Error if the database cannot be reached within ten seconds */
async function openLeaseConnection(database: Database, application_name: string): Promise<LeaseConnection> {
  const WatchedClient = clientWithTimeouts(database.url)
  const client = new WatchedClient({
    connectionString: database.url,
    application_name,
    connectionTimeoutMillis: 10_000,
    ...keepAlive,
  })
  const broken = new AbortController()
  const onEnd = () => broken.abort(new Error('The connection that holds the lease broke'))
  client.on('error', onEnd)
  client.on('end', onEnd)
  try {
    await client.connect()
    // Without keepalives, Postgres would hold the locks of a vanished machine for hours. `keepAlive` applies only to the client's side.
    await client.query('set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3')
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  return { client, lost: broken.signal }
}

export type Lock = {
  /** Aborts when the connection breaks, after which another process may hold the lock. */
  lost: AbortSignal
  release: () => Promise<void>
}

/** Locks of this process, on a dedicated connection that is reopened if it breaks. */
export type Locks = {
  /** Returns null if this or another process already holds the lock. `id` must be below 2^31. */
  tryLock: (id: number) => Promise<Lock | null>
  close: () => Promise<void>
}

/** Namespaces of locks, so that their ids do not collide. */
export const lockSpaces = { deployments: 5_404_101, uploads: 5_404_104 }

/** Creates the locks of this process. `space` is the namespace of the ids: a 32-bit number that no other kind of lock uses. */
export function openLocks(database: Database, space: number): Locks {
  type Connection = LeaseConnection & { heldIds: Set<number> }
  let currentConnection: Promise<Connection> | null = null
  let isClosed = false

  function getConnection(): Promise<Connection> {
    if (isClosed) throw new Error('The locks are closed')
    if (currentConnection) return currentConnection
    const newConnection = openLeaseConnection(database, 'shoal-locks').then((lease) => ({
      ...lease,
      heldIds: new Set<number>(),
    }))
    currentConnection = newConnection
    const clear = () => {
      if (currentConnection === newConnection) currentConnection = null
    }
    newConnection.then(({ lost }) => lost.addEventListener('abort', clear, { once: true }), clear)
    return newConnection
  }

  return {
    tryLock: async (id) => {
      const { client, lost, heldIds } = await getConnection()
      // Postgres would grant a session a lock that the session already holds.
      if (heldIds.has(id)) return null
      heldIds.add(id)
      const isAcquired = await tryAcquire(client, 'pg_try_advisory_lock($1, $2)', [space, id]).catch(
        (error: unknown) => {
          heldIds.delete(id)
          throw error
        },
      )
      if (!isAcquired) {
        heldIds.delete(id)
        return null
      }
      const release = async () => {
        if (lost.aborted || !heldIds.has(id)) return
        await client.query('select pg_advisory_unlock($1, $2)', [space, id])
        heldIds.delete(id)
      }
      return { lost, release }
    },
    close: async () => {
      isClosed = true
      const connection = await currentConnection?.catch(() => null)
      await connection?.client.end()
    },
  }
}

export type LeaderHandle = {
  /** Ends the work and releases the lease. */
  close: () => Promise<void>
}

/**
 * Runs `lead` in only one process at a time of all that share the database. When that process ends, another one becomes the leader.
 * The client passed to `lead` holds the lease, so only the leader can write through it. `signal` aborts when the connection
 * breaks or on `close`; `lead` must then return. If `lead` returns or throws earlier, it is called again.
 */
export function runAsLeader(
  database: Database,
  log: Logger,
  name: string,
  lead: (client: Client, signal: AbortSignal) => Promise<void>,
): LeaderHandle {
  const closing = new AbortController()

  /** Waits for the lease on a new connection, then calls `lead` and waits until it returns. */
  const leadOnce = async () => {
    const { client, lost } = await openLeaseConnection(database, `shoal-${name}`)
    const signal = AbortSignal.any([closing.signal, lost])
    const key = [`shoal:${name}`]
    try {
      while (!signal.aborted && !(await tryAcquire(client, 'pg_try_advisory_lock(hashtextextended($1, 0))', key)))
        await pause(retryMs, signal)
      if (!signal.aborted) await lead(client, signal)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  const done = (async () => {
    while (!closing.signal.aborted) {
      await leadOnce().catch((error: unknown) => {
        if (!closing.signal.aborted) log.warn({ err: error, name }, 'leadership was interrupted')
      })
      await pause(retryMs, closing.signal)
    }
  })()
  return {
    close: async () => {
      closing.abort()
      await done
    },
  }
}

async function tryAcquire(client: Client, attempt: string, values: unknown[]): Promise<boolean> {
  const { rows } = await client.query<{ isAcquired: boolean }>(`select ${attempt} as "isAcquired"`, values)
  return rows[0]?.isAcquired ?? false
}
