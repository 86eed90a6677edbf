import { Client, escapeIdentifier } from 'pg'
import type { Database } from './database.ts'
import { keepAlive } from './pool.ts'

type Listener = {
  onMessage: (payload: string) => void
  /** No message is missed from now on. Called after the first connect and after each reconnect. */
  onListening?: () => void
}

/** Calls back for each NOTIFY on a channel. */
export type Notifications = {
  /** Returns a function that stops listening. */
  listen: (channel: string, listener: Listener) => () => void
}

const retryMs = 1_000
const ofDatabase = new WeakMap<Database, Notifications>()

/** The notifications of this process, on one connection for all listeners that is open while there are any. */
export function notificationsOf(database: Database): Notifications {
  const known = ofDatabase.get(database) ?? createNotifications(database.url)
  ofDatabase.set(database, known)
  return known
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
    const opened = { client, lastCommand: client.connect() }
    const reconnect = () => {
      if (connection !== opened) return
      connection = null
      setTimeout(() => listeners.size > 0 && !connection && open(), retryMs).unref()
      client.end().catch(() => undefined)
    }
    client.on('error', reconnect)
    client.once('end', reconnect)
    opened.lastCommand.catch(reconnect)
    connection = opened
    for (const [channel, ofChannel] of listeners) void startListening(opened, channel, ofChannel)
  }

  /** Sends commands one at a time, since a client takes only one statement at a time. */
  const send = (on: Connection, verb: 'listen' | 'unlisten', channel: string): Promise<unknown> => {
    on.lastCommand = on.lastCommand.then(() => on.client.query(`${verb} ${escapeIdentifier(channel)}`))
    return on.lastCommand
  }

  const startListening = async (on: Connection, channel: string, ofChannel: Iterable<Listener>) => {
    try {
      await send(on, 'listen', channel)
      for (const listener of ofChannel) listener.onListening?.()
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
      const ofChannel = listeners.get(channel) ?? new Set()
      listeners.set(channel, ofChannel)
      ofChannel.add(listener)
      if (connection) void startListening(connection, channel, [listener])
      else open()
      return () => {
        ofChannel.delete(listener)
        if (ofChannel.size > 0 || listeners.get(channel) !== ofChannel) return
        listeners.delete(channel)
        if (listeners.size === 0) close()
        else if (connection) send(connection, 'unlisten', channel).catch(() => undefined)
      }
    },
  }
}
