import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { minutes } from '../clock.ts'
import { createAmbientDb } from './ambient-transaction.ts'
import { createPool } from './pool.ts'

/** A database or an open transaction: every function of a `store.ts` takes one first. */
export type Db = Pick<
  NodePgDatabase,
  'select' | 'selectDistinct' | 'insert' | 'update' | 'delete' | 'execute' | 'transaction'
>

export type Database = {
  /** Takes part in the transaction it is used in; see `ambient-transaction.ts`. */
  db: Db
  /** For LISTEN, COPY and advisory locks, which need a dedicated connection. */
  pool: pg.Pool
  url: string
  close: () => Promise<void>
}

// Our counts and ids stay far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** Longer than the interval of the ten-second polls: a new connection costs more than most of their queries. */
const idleTimeoutMillis = minutes(1)

/**
 * Connects on first use. While the database is unreachable, queries fail with DatabaseUnavailable within the limits of
 * `query-timeouts.ts`.
 */
export function connect(url: string, options: { max?: number } = {}): Database {
  const max = options.max ?? 20
  const pool = createPool({ connectionString: url, max, idleTimeoutMillis, application_name: 'shoal' })
  // The pool replaces a connection that breaks while idle; without a listener its error would end the process.
  pool.on('error', () => {})
  return { db: createAmbientDb(pool), pool, url, close: () => pool.end() }
}

/** Creates the database if it does not exist. `adminUrl` is the address of any other database of the same server. */
export async function ensureDatabase(adminUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const found = await client.query('select 1 from pg_database where datname = $1', [name])
    if (found.rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`)
  } catch (error) {
    // Another process may have created it concurrently.
    if (!(error instanceof pg.DatabaseError && error.code === '42P04')) throw error
  } finally {
    await client.end()
  }
}
