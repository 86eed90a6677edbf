import { Client, escapeIdentifier } from 'pg'
import { oncePer } from '../collections/once-per.ts'
import type { Database, Db } from './database.ts'
import { keepAlive } from './pool.ts'
import { sql } from './sql.ts'

type Listener = {
  onMessage: (payload: string) => void
  /** Called after the first connect and after each reconnect. From then on, no message is missed. */
  onListening?: () => void
}

/** Calls listeners for each NOTIFY on a channel. */
export type Notifications = {
  /** Returns a function that stops listening. */
  listen: (channel: string, listener: Listener) => () => void
}

const retryMs = 1_000

/** Returns the notifications of this process. All listeners share one connection, which is open while there are any. */
export const notificationsOf = oncePer(
  (database: Database) => database,
  ({ url }) => createNotifications(url),
)

/** Notifies every process that listens on `channel`, when the transaction commits. */
export async function notify(db: Db, channel: string, payload: string): Promise<void> {
  await db.execute(sql`select pg_notify(${channel}, ${payload})`)
}

type Connection = {
  client: Client
  /** Settles with the last command sent so far; rejects if the client could not connect. */
  lastCommand: Promise<unknown>
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
    const newConnection = { client, lastCommand: client.connect() }
    const reconnect = () => {
      if (connection !== newConnection) return
      connection = null
      setTimeout(() => listeners.size > 0 && !connection && open(), retryMs).unref()
      client.end().catch(() => undefined)
    }
    client.on('error', reconnect)
    client.once('end', reconnect)
    newConnection.lastCommand.catch(reconnect)
    connection = newConnection
    for (const [channel, channelListeners] of listeners) void startListening(newConnection, channel, channelListeners)
  }

  /** Sends one command at a time, since a client can execute only one statement at a time. */
  const send = (target: Connection, verb: 'listen' | 'unlisten', channel: string): Promise<unknown> => {
    target.lastCommand = target.lastCommand.then(() => target.client.query(`${verb} ${escapeIdentifier(channel)}`))
    return target.lastCommand
  }

  const startListening = async (target: Connection, channel: string, channelListeners: Iterable<Listener>) => {
    try {
      await send(target, 'listen', channel)
      for (const listener of channelListeners) listener.onListening?.()
    } catch {
      // The connection broke; the next one listens to all channels.
    }
  }

  const close = () => {
    const closed = connection
    connection = null
    closed?.client.end().catch(() => undefined)
  }

  return {
    listen: (channel, listener) => {
      const channelListeners = listeners.get(channel) ?? new Set()
      listeners.set(channel, channelListeners)
      channelListeners.add(listener)
      if (connection) void startListening(connection, channel, [listener])
      else open()
      return () => {
        channelListeners.delete(listener)
        if (channelListeners.size > 0 || listeners.get(channel) !== channelListeners) return
        listeners.delete(channel)
        if (listeners.size === 0) close()
        else if (connection) send(connection, 'unlisten', channel).catch(() => undefined)
      }
    },
  }
}
