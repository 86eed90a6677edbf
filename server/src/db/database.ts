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
  /** Joins the transaction it is used in; see `ambient-transaction.ts`. */
  db: Db
  /** For what needs a connection of its own: LISTEN, COPY, advisory locks. */
  pool: pg.Pool
  url: string
  close: () => Promise<void>
}

// Counts and ids of ours stay far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** Longer than the pauses of those who ask every ten seconds: a new connection costs more than what most of them ask. */
const idleTimeoutMillis = minutes(1)

/** Connects when it is first asked. Whoever asks while the database is away gets DatabaseUnavailable; see `query-timeouts.ts`. */
export function connect(url: string, options: { max?: number } = {}): Database {
  const max = options.max ?? 20
  const pool = createPool({ connectionString: url, max, idleTimeoutMillis, application_name: 'shoal' })
  // A connection that breaks while idle is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => {})
  return { db: createAmbientDb(pool), pool, url, close: () => pool.end() }
}

/** Makes the database when it is missing; `adminUrl` leads to any other database of the same server. */
export async function ensureDatabase(adminUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const found = await client.query('select 1 from pg_database where datname = $1', [name])
    if (found.rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`)
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!(error instanceof pg.DatabaseError && error.code === '42P04')) throw error
  } finally {
    await client.end()
  }
}
