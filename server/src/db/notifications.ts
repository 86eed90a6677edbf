import { Client, escapeIdentifier } from 'pg'
import type { Database } from './database.ts'
import { keepAlive } from './pool.ts'

type Listener = {
  onMessage: (payload: string) => void
  /** From now on nothing is missed: called at first, and after each time the connection was broken. */
  onListening?: () => void
}

/** Calls back for each NOTIFY on a channel. */
export type Notifications = {
  /** Answers how to stop. */
  listen: (channel: string, listener: Listener) => () => void
}

const retryMs = 1_000
const ofDatabase = new WeakMap<Database, Notifications>()

/** One connection for all listeners of this process, open while there are any. */
export function notificationsOf(database: Database): Notifications {
  const known = ofDatabase.get(database) ?? createNotifications(database.url)
  ofDatabase.set(database, known)
  return known
}

type Connection = {
  client: Client
  /** Resolves when it was told everything so far; rejects when it could not connect. */
  told: Promise<unknown>
}

function createNotifications(url: string): Notifications {
  const listeners = new Map<string, Set<Listener>>()
  let connection: Connection | null = null

  const open = () => {
    const client = new Client({
      connectionString: url,
      application_name: 'shoal-listen',
      connectionTimeoutMillis: 10_000,
      ...keepAlive,
    })
    client.on('notification', ({ channel, payload }) => {
      for (const listener of listeners.get(channel) ?? []) listener.onMessage(payload ?? '')
    })
    const opened = { client, told: client.connect() }
    const openAnew = () => {
      if (connection !== opened) return
      connection = null
      setTimeout(() => listeners.size > 0 && !connection && open(), retryMs).unref()
      client.end().catch(() => undefined)
    }
    client.on('error', openAnew)
    client.once('end', openAnew)
    opened.told.catch(openAnew)
    connection = opened
    for (const [channel, ofChannel] of listeners) void begin(opened, channel, ofChannel)
  }

  /** One after the other: a client takes one statement at a time. */
  const tell = (at: Connection, verb: 'listen' | 'unlisten', channel: string): Promise<unknown> => {
    at.told = at.told.then(() => at.client.query(`${verb} ${escapeIdentifier(channel)}`))
    return at.told
  }

  const begin = async (at: Connection, channel: string, told: Iterable<Listener>) => {
    try {
      await tell(at, 'listen', channel)
      for (const listener of told) listener.onListening?.()
    } catch {
      // The connection broke; the next one listens to everything.
    }
  }

  const close = () => {
    const closed = connection
    connection = null
    closed?.client.end().catch(() => undefined)
  }

  return {
    listen: (channel, listener) => {
      const ofChannel = listeners.get(channel) ?? new Set()
      listeners.set(channel, ofChannel)
      ofChannel.add(listener)
      if (connection) void begin(connection, channel, [listener])
      else open()
      return () => {
        ofChannel.delete(listener)
        if (ofChannel.size > 0 || listeners.get(channel) !== ofChannel) return
        listeners.delete(channel)
        if (listeners.size === 0) close()
        else if (connection) tell(connection, 'unlisten', channel).catch(() => undefined)
      }
    },
  }
}
