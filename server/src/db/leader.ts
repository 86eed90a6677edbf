import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Logger } from 'pino'
import type { Database } from './database.ts'

/** How long a process waits before it asks again whether the leader has gone, and before it leads again after an error. */
const retryMs = 1_000

export type Leading = {
  /** Ends the work and gives the lock back. */
  close: () => Promise<void>
}

/**
 * Does `lead` in one process at a time of all that share the database, and moves on to another process when this one dies.
 * The connection it is given holds the lock: what is written through it can only have been written by the leader. `signal`
 * aborts when the connection breaks or on `close`; `lead` then has to come to an end. When it ends otherwise it begins anew.
 */
export function startLeading(
  database: Database,
  log: Logger,
  name: string,
  lead: (client: Client, signal: AbortSignal) => Promise<void>,
): Leading {
  const closing = new AbortController()
  const done = (async () => {
    while (!closing.signal.aborted) {
      await term(database, name, lead, closing.signal).catch((error: unknown) => {
        if (!closing.signal.aborted) log.warn({ err: error, name }, 'leading was interrupted')
      })
      await sleep(retryMs, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  })()
  return {
    close: async () => {
      closing.abort()
      await done
    },
  }
}

/** One connection's time: asks for the lock until it is had, then leads until that ends. */
async function term(
  database: Database,
  name: string,
  lead: (client: Client, signal: AbortSignal) => Promise<void>,
  closing: AbortSignal,
): Promise<void> {
  const client = new Client({ connectionString: database.url, application_name: `shoal-${name}`, keepAlive: true })
  const broken = new AbortController()
  client.on('error', () => broken.abort())
  client.on('end', () => broken.abort())
  const signal = AbortSignal.any([closing, broken.signal])
  try {
    await client.connect()
    while (!signal.aborted && !(await takeLock(client, name)))
      await sleep(retryMs, undefined, { signal }).catch(() => undefined)
    if (!signal.aborted) await lead(client, signal)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function takeLock(client: Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(
    'select pg_try_advisory_lock(hashtextextended($1, 0)) as taken',
    [`shoal:${name}`],
  )
  return rows[0]?.taken ?? false
}
