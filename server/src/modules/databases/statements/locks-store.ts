import type { Client } from 'pg'
import { keepAlive, clientWithTimeouts } from '../../../db/pool.ts'
import type { Database } from '../../../db/database.ts'
import { asUnavailable } from '../../../db/unavailable.ts'

/** A session of a tenant, and how many entries of the lock table of its Postgres it uses. */
export type LockHolder = { pid: number; startedAt: string; role: string; locks: number }

/** Sessions with fewer locks cannot fill the lock table, even if all connections have as many. */
const minLocks = 100

const connectTimeoutMs = 2_000

/**
 * Lets the next statement of the transaction read the sessions again. As a statement without parameters, it also closes the portal of
 * the statement before it, which would prevent Postgres from removing old rows.
 */
const clearSnapshots = 'select pg_stat_clear_snapshot()'

/**
 * Reads and ends sessions on one connection with one open transaction. When the lock table is full, Postgres accepts no new
 * connection and no statement that needs another lock. The transaction keeps all locks that its own statements need.
 */
export class LockReader {
  readonly #cluster: Database
  #client: Client | null = null
  /** The number of locks for which Postgres reserves memory; the table may have a few more. */
  #capacity = 0

  constructor(cluster: Database) {
    this.#cluster = cluster
  }

  /** Returns the sessions of roles with this prefix that have many locks, and how many locks the table can have. */
  async read(rolePrefix: string): Promise<{ capacity: number; holders: LockHolder[] }> {
    const holders = await this.#query<LockHolder>(
      `select a.pid, extract(epoch from a.backend_start)::text as "startedAt", a.usename as role, l.locks
       from pg_stat_activity a join (select pid, count(*)::int as locks from pg_locks where not fastpath
         group by pid having count(*) >= $2) l on l.pid = a.pid
       where a.backend_type = 'client backend' and starts_with(a.usename, $1)`,
      [rolePrefix, minLocks],
    )
    return { capacity: this.#capacity, holders }
  }

  /** Ends a session, and waits up to a second for its locks to be released. Returns false if it has ended in the meantime. @throws DatabaseError if Shoal's role may not end it */
  async end({ pid, startedAt }: LockHolder): Promise<boolean> {
    const rows = await this.#query(
      `select pg_terminate_backend(pid, 1000) from pg_stat_activity
       where pid = $1 and extract(epoch from backend_start)::text = $2`,
      [pid, startedAt],
    )
    return rows.length === 1
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => undefined)
  }

  async #query<Row extends object>(text: string, values: unknown[]): Promise<Row[]> {
    try {
      const client = (this.#client ??= await this.#open())
      const { rows } = await client.query<Row>(text, values)
      await client.query(clearSnapshots)
      return rows
    } catch (error) {
      // The error has aborted the transaction.
      await this.close()
      throw error
    }
  }

  async #open(): Promise<Client> {
    const Watched = clientWithTimeouts(this.#cluster.url)
    const client = new Watched({
      connectionString: this.#cluster.url,
      application_name: 'shoal',
      connectionTimeoutMillis: connectTimeoutMs,
      ...keepAlive,
    })
    try {
      await client.connect()
      await client.query('set idle_in_transaction_session_timeout = 0')
      await client.query(`select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'`)
      // With this isolation level, the transaction does not prevent Postgres from removing old rows.
      await client.query('begin isolation level read committed read only')
      const { rows } = await client.query<{ capacity: number }>(
        `select current_setting('max_locks_per_transaction')::int * current_setting('max_connections')::int as capacity
         from (select count(*) from pg_auth_members) members, (select count(*) from pg_stat_activity) sessions`,
      )
      this.#capacity = rows[0]?.capacity ?? 0
      await client.query(clearSnapshots)
      return client
    } catch (error) {
      await client.end().catch(() => undefined)
      throw asUnavailable(error)
    }
  }
}
