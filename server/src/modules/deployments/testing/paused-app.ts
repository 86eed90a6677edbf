import type { Client, QueryResult } from 'pg'
import type { App } from '../../../app.ts'
import { connect } from '../../../db/database.ts'
import { singleHost } from '../../../db/database-hosts.ts'

/**
 * Returns an app whose worker is paused directly before the first statement that matches the pattern, as on a suspended machine, until
 * `whilePaused` returns. `whilePaused` must run the statement, and can read its result.
 */
export function pausedApp<A extends App>(
  app: A,
  matches: RegExp,
  whilePaused: (run: () => Promise<QueryResult>) => Promise<QueryResult>,
): { app: A; wasReached: () => boolean; close: () => Promise<void> } {
  let isReached = false
  const database = connect(app.database.url, { max: 6 })
  database.pool.on('connect', (client) => {
    const query = client.query.bind(client) as unknown as (...args: unknown[]) => Promise<QueryResult>
    const patched = (...args: unknown[]) => {
      const [first] = args
      const text = typeof first === 'string' ? first : String((first as { text?: string }).text)
      if (isReached || !matches.test(text)) return query(...args)
      isReached = true
      return whilePaused(() => query(...args))
    }
    ;(client as unknown as Client).query = patched as Client['query']
  })
  return {
    app: { ...app, database, db: database.db, databaseHosts: singleHost(database) },
    wasReached: () => isReached,
    close: database.close,
  }
}
