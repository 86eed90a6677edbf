import { Client, escapeIdentifier } from 'pg'
import type { Database } from './database.ts'

type Listener = {
  heard: (payload: string) => void
  /** From now on nothing is missed: called at first, and after each time the connection was broken. */
  listening?: () => void
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

function createNotifications(url: string): Notifications {
  const listeners = new Map<string, Set<Listener>>()
  let client: Client | null = null

  const open = () => {
    const opened = new Client({ connectionString: url, application_name: 'shoal-listen', keepAlive: true })
    client = opened
    opened.on('notification', ({ channel, payload }) => {
      for (const listener of listeners.get(channel) ?? []) listener.heard(payload ?? '')
    })
    const openAnew = () => {
      if (client !== opened) return
      client = null
      setTimeout(() => listeners.size > 0 && !client && open(), retryMs).unref()
      opened.end().catch(() => undefined)
    }
    opened.on('error', openAnew)
    opened.once('end', openAnew)
    opened.connect().catch(openAnew)
    for (const [channel, ofChannel] of listeners) void begin(opened, channel, ofChannel)
  }

  /** The client queues what it is told until it is connected. */
  const begin = async (at: Client, channel: string, told: Iterable<Listener>) => {
    try {
      await at.query(`listen ${escapeIdentifier(channel)}`)
      for (const listener of told) listener.listening?.()
    } catch {
      // The connection broke; the next one listens to everything.
    }
  }

  const close = () => {
    const closed = client
    client = null
    closed?.end().catch(() => undefined)
  }

  return {
    listen: (channel, listener) => {
      const ofChannel = listeners.get(channel) ?? new Set()
      listeners.set(channel, ofChannel)
      ofChannel.add(listener)
      if (client) void begin(client, channel, [listener])
      else open()
      return () => {
        ofChannel.delete(listener)
        if (ofChannel.size > 0 || listeners.get(channel) !== ofChannel) return
        listeners.delete(channel)
        if (listeners.size === 0) close()
        else client?.query(`unlisten ${escapeIdentifier(channel)}`).catch(() => undefined)
      }
    },
  }
}
