import type { Client } from 'pg'
import type { Logger } from 'pino'
import type { Database } from './database.ts'
import { pause } from './every.ts'
import { keepAlive, clientWithTimeouts } from './pool.ts'

/** How long a process waits before it asks again whether the leader has gone, and before it leads again after an error. */
const retryMs = 1_000

/**
 * Leases of this process: advisory locks, each held for as long as the connection that took it lives, so a killed process gives them
 * back at once and one whose machine vanished within half a minute.
 */
type LeaseConnection = { client: Client; lost: AbortSignal }

/** @throws when the database cannot be reached within ten seconds */
async function openLeaseConnection(database: Database, application_name: string): Promise<LeaseConnection> {
  const WatchedClient = clientWithTimeouts(database.url)
  const client = new WatchedClient({
    connectionString: database.url,
    application_name,
    connectionTimeoutMillis: 10_000,
    ...keepAlive,
  })
  const broken = new AbortController()
  const end = () => broken.abort(new Error('The connection that holds the lease broke'))
  client.on('error', end)
  client.on('end', end)
  try {
    await client.connect()
    // Postgres must notice that a whole machine vanished, or its locks would stay for hours. We notice it earlier: see `keepAlive`.
    await client.query('set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3')
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  return { client, lost: broken.signal }
}

/** Held for as long as its connection lives. */
export type Lock = {
  /** Aborted when the connection broke: another process may hold the lock from now on. */
  lost: AbortSignal
  release: () => Promise<void>
}

/** Locks of this process, on a connection of their own that is replaced when it broke. */
export type Locks = {
  /** Null when anybody holds it, in this process too. `id` is below 2^31. */
  tryLock: (id: number) => Promise<Lock | null>
  close: () => Promise<void>
}

/** `space` tells apart what the ids count; any number of 32 bits that no other kind of lock has. */
export function openLocks(database: Database, space: number): Locks {
  type Connection = LeaseConnection & { held: Set<number> }
  let current: Promise<Connection> | null = null
  let isClosed = false

  function connection(): Promise<Connection> {
    if (isClosed) throw new Error('The locks are closed')
    if (current) return current
    const next = openLeaseConnection(database, 'shoal-locks').then((holder) => ({ ...holder, held: new Set<number>() }))
    current = next
    const clear = () => {
      if (current === next) current = null
    }
    next.then(({ lost }) => lost.addEventListener('abort', clear, { once: true }), clear)
    return next
  }

  return {
    tryLock: async (id) => {
      const { client, lost, held } = await connection()
      // Postgres would give a session its own lock a second time.
      if (held.has(id)) return null
      held.add(id)
      const isOurs = await tryAcquire(client, 'pg_try_advisory_lock($1, $2)', [space, id]).catch((error: unknown) => {
        held.delete(id)
        throw error
      })
      if (!isOurs) {
        held.delete(id)
        return null
      }
      const release = async () => {
        if (lost.aborted || !held.has(id)) return
        await client.query('select pg_advisory_unlock($1, $2)', [space, id])
        held.delete(id)
      }
      return { lost, release }
    },
    close: async () => {
      isClosed = true
      const open = await current?.catch(() => null)
      await open?.client.end()
    },
  }
}

export type LeaderHandle = {
  /** Ends the work and gives the lease back. */
  close: () => Promise<void>
}

/**
 * Does `lead` in one process at a time of all that share the database, and moves on to another process when this one dies.
 * The connection it is given holds the lease: what is written through it can only have been written by the leader. `signal`
 * aborts when the connection breaks or on `close`; `lead` then has to come to an end. When it ends otherwise it begins again.
 */
export function runAsLeader(
  database: Database,
  log: Logger,
  name: string,
  lead: (client: Client, signal: AbortSignal) => Promise<void>,
): LeaderHandle {
  const closing = new AbortController()

  /** One connection's time: asks for the lease until it is had, then leads until that ends. */
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
        if (!closing.signal.aborted) log.warn({ err: error, name }, 'leading was interrupted')
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
  const { rows } = await client.query<{ isOurs: boolean }>(`select ${attempt} as "isOurs"`, values)
  return rows[0]?.isOurs ?? false
}
