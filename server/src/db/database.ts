import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { minutes } from '../clock.ts'
import { createAmbientDb } from './ambient-transaction.ts'
import { closePool, createPool } from './pool.ts'

/** A database or an open transaction: the first parameter of every function of a `store.ts`. */
export type Db = Pick<
  NodePgDatabase,
  'select' | 'selectDistinct' | 'insert' | 'update' | 'delete' | 'execute' | 'transaction'
>

export type Database = {
  /** Joins the transaction in whose callback it is used; see `ambient-transaction.ts`. */
  db: Db
  /** For LISTEN, COPY and advisory locks, which need a dedicated connection. */
  pool: pg.Pool
  url: string
  /** Waits for the queries in progress, for up to ten seconds, then breaks their connections. */
  close: () => Promise<void>
}

// Shoal's counts and ids stay far below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** Longer than the poll interval of ten seconds, so that polls reuse connections: opening one costs more than most queries of polls. */
const idleTimeoutMillis = minutes(1)

/**
 * Creates a pool that connects on first use. While the database is unreachable, queries fail with DatabaseUnavailable within the limits of
 * `query-timeouts.ts`.
 */
export function connect(url: string, { max = 20, closeTimeoutMs = 10_000 } = {}): Database {
  const pool = createPool({ connectionString: url, max, idleTimeoutMillis, application_name: 'shoal' })
  // The pool replaces a connection that breaks while idle; without a listener its error would end the process.
  pool.on('error', () => {})
  return { db: createAmbientDb(pool), pool, url, close: () => closePool(pool, closeTimeoutMs) }
}

/** Whether two URLs name the same server. */
export const isSamePostgres = (a: string, b: string): boolean => {
  const addressOf = (url: string) => `${new URL(url).hostname}:${new URL(url).port || '5432'}`
  return addressOf(a) === addressOf(b)
}

/** Creates the database if it does not exist. `adminUrl` is the URL of any other database of the same server. */
export async function ensureDatabase(adminUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const existing = await client.query('select 1 from pg_database where datname = $1', [name])
    if (existing.rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(name)}`)
  } catch (error) {
    // Another process may have created it concurrently.
    if (!(error instanceof pg.DatabaseError && error.code === '42P04')) throw error
  } finally {
    await client.end()
  }
}

/** Creates the view of Postgres' statistics of statements, which is empty unless Postgres was started with pg_stat_statements. */
export async function ensureStatementStatistics(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const existing = await client.query("select 1 from pg_extension where extname = 'pg_stat_statements'")
    if (existing.rowCount === 0) await client.query('create extension if not exists pg_stat_statements')
  } catch (error) {
    // Another process may have created it concurrently.
    if (!(error instanceof pg.DatabaseError && ['23505', '42710'].includes(error.code ?? ''))) throw error
  } finally {
    await client.end()
  }
}
