import { Client } from 'pg'
import type { Database } from './database.ts'

/** Held for as long as its connection lives, so a killed process gives it back. */
export type Lock = {
  /** Aborted when the connection broke: somebody else may hold the lock from now on. */
  lost: AbortSignal
  release: () => Promise<void>
}

/** Locks of this process, on a connection of their own that is replaced when it broke. */
export type Locks = {
  /** Null when anybody holds it, in this process too. `id` is below 2^31. */
  tryLock: (id: number) => Promise<Lock | null>
  close: () => Promise<void>
}

type Connection = { client: Client; lost: AbortController; held: Set<number> }

/** `space` tells apart what the ids count; any number of 32 bits that no other kind of lock has. */
export function openLocks(database: Database, space: number): Locks {
  let current: Promise<Connection> | null = null
  let isClosed = false

  async function connect(): Promise<Connection> {
    const client = new Client({
      connectionString: database.url,
      application_name: 'shoal-locks',
      connectionTimeoutMillis: 10_000,
    })
    const connection: Connection = { client, lost: new AbortController(), held: new Set() }
    const end = () => {
      if (connection.lost.signal.aborted) return
      connection.lost.abort(new Error('The connection that holds the locks broke'))
      current = null
    }
    client.on('error', end)
    client.on('end', end)
    await client.connect()
    // Postgres must notice that a whole machine vanished, or its locks would stay for hours.
    await client.query('set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3')
    return connection
  }

  function connection(): Promise<Connection> {
    if (isClosed) throw new Error('The locks are closed')
    if (current) return current
    const next = connect()
    current = next
    next.catch(() => {
      if (current === next) current = null
    })
    return next
  }

  return {
    tryLock: async (id) => {
      const { client, lost, held } = await connection()
      // Postgres would give a session its own lock a second time.
      if (held.has(id)) return null
      held.add(id)
      const isOurs = await take(client, space, id).catch((error: unknown) => {
        held.delete(id)
        throw error
      })
      if (!isOurs) {
        held.delete(id)
        return null
      }
      const release = async () => {
        if (lost.signal.aborted || !held.has(id)) return
        await client.query('select pg_advisory_unlock($1, $2)', [space, id])
        held.delete(id)
      }
      return { lost: lost.signal, release }
    },
    close: async () => {
      isClosed = true
      const open = await current?.catch(() => null)
      await open?.client.end()
    },
  }
}

async function take(client: Client, space: number, id: number): Promise<boolean> {
  const { rows } = await client.query<{ isOurs: boolean }>('select pg_try_advisory_lock($1, $2) as "isOurs"', [
    space,
    id,
  ])
  return rows[0]?.isOurs ?? false
}
