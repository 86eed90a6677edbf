import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import type { WorkerApp } from '../../../app.ts'
import { connect, type Database } from '../../../db/database.ts'
import { emptyDatabase } from '../../../testing/test-database.ts'
import { createReader } from '../reader.ts'

/** An app of the same installation after a restart with SHOAL_LOGS_DATABASE_URL. */
export type LogsApp = { app: WorkerApp; target: Database; close: () => Promise<void> }

/**
 * Creates such an app with an empty database of logs. `via` changes the URL of the database of logs, for example to the
 * URL of a proxy.
 */
export async function withLogsDatabase(app: WorkerApp, via = (url: string) => url): Promise<LogsApp> {
  const target = await emptyDatabase()
  const logsDatabase = connect(via(target.url), { max: 5 })
  return {
    app: { ...app, config: { ...app.config, SHOAL_LOGS_DATABASE_URL: target.url }, logsDatabase },
    target,
    close: async () => {
      await logsDatabase.close()
      await target.close()
    },
  }
}

/** Returns the texts of all lines of a version in the order of the page, read in pages of `limit`. */
export async function readAllLines(app: WorkerApp, squidId: number, limit = 1_000): Promise<string[]> {
  const reader = createReader(app)
  const texts: string[] = []
  let after = null
  do {
    const { lines, next } = await reader.history({
      squidId,
      fromMs: null,
      toMs: null,
      filter: { levels: null, containers: null, search: null },
      direction: 'asc',
      after,
      limit,
      signal: new AbortController().signal,
    })
    texts.push(...lines.map(({ message }) => message))
    after = next
  } while (after)
  return texts
}

/** Creates a role that may connect to the database but create nothing. Returns the URL that connects with this role. */
export async function createReadOnlyRole({ pool, url }: Database): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `r_${randomBytes(6).toString('hex')}`
  await pool.query(`create role ${name} login password 'x'`)
  await pool.query('revoke create on schema public from public')
  const changed = new URL(url)
  changed.username = name
  changed.password = 'x'
  return { url: changed.href, drop: async () => void (await pool.query(`drop role ${name}`)) }
}

/** The connection breaks at the statement `at`, before Postgres receives it or after Postgres executed it. */
export type Break = { at: number; when: 'before' | 'after' }

/** Opens a connection that breaks like that of a process that is killed. */
export async function breakingClient(url: string, { at, when }: Break): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  let count = 0
  const send = client.query.bind(client) as (...args: unknown[]) => unknown
  client.query = ((...args: unknown[]) => {
    if (++count !== at) return send(...args)
    const isStream = typeof args[0] === 'object' && args[0] !== null && 'submit' in args[0]
    const broken = async () => {
      if (when === 'after' && !isStream) await send(...args)
      await client.end()
      throw new Error('The connection broke')
    }
    if (!isStream) return broken()
    void client.end()
    throw new Error('The connection broke')
  }) as typeof client.query
  return client
}
