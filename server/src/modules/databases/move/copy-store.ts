import { randomInt } from 'node:crypto'
import { DatabaseError, type Client } from 'pg'
import type { CopiedTable } from '../../../db/copy-rows.ts'
import type { Database } from '../../../db/database.ts'
import { connectToTenant } from '../tenant-client-store.ts'
import type { Definition } from './definition.ts'

/** Lists the tables to copy, the largest first. Omits those of extensions. */
export async function listCopiedTables(client: Client): Promise<CopiedTable[]> {
  const { rows } = await client.query<CopiedTable>(
    `select format('%I.%I', n.nspname, c.relname) as name, pg_table_size(c.oid)::float8 as bytes, c.reltuples::float8 as rows,
       array(select quote_ident(a.attname) from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as stored
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
       and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
     order by pg_table_size(c.oid) desc, 1`,
  )
  return rows
}

/** A snapshot of a database. Until its release, no program can write to the tables of the database. */
export type LockedSnapshot = {
  /** The id for `set transaction snapshot` of other connections. */
  snapshot: string
  /** Quoted names of the locked tables. */
  tables: ReadonlySet<string>
  /** @throws Error if the connection broke, so that programs may have written */
  check: () => Promise<void>
  /** Ends the connection, so that programs can write again. Never throws. */
  release: () => Promise<void>
}

/**
 * Locks all tables of a database against writes, and exports a snapshot. Programs can read the tables; their writes wait. Shoal's role
 * holds the lock, because locking runs no code of the tenant, and because the tenant could end its own sessions.
 * @throws DatabaseError if a program holds a lock of a table for 30 seconds
 */
export async function lockAndExportSnapshot(cluster: Database, database: string): Promise<LockedSnapshot> {
  const client = await connectToTenant(cluster, { database, applicationName: 'shoal move' })
  try {
    // If the host of this process vanishes, Postgres must release the lock within minutes.
    await client.query('set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3')
    const tables = (await listCopiedTables(client)).map(({ name }) => name)
    await client.query('begin isolation level repeatable read')
    if (tables.length > 0)
      await client.query(`lock table ${tables.map((name) => `only ${name}`).join(', ')} in share mode`)
    // The snapshot is taken only now, when all earlier writes have ended.
    const { rows } = await client.query<{ snapshot: string }>('select pg_export_snapshot() as snapshot')
    return {
      snapshot: rows[0]?.snapshot ?? '',
      tables: new Set(tables),
      check: async () => void (await client.query('select 1')),
      release: () => client.end().catch(() => undefined),
    }
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
}

/** Makes the text form of values independent of the server's settings, and begins a transaction that reads. */
export async function beginReading(client: Client, snapshot?: string): Promise<void> {
  await client.query(`set timezone = 'UTC'; set lc_monetary = 'C'`)
  await client.query('begin isolation level repeatable read read only')
  if (snapshot !== undefined) await client.query(`set transaction snapshot '${snapshot}'`)
}

/** Makes the text form of values independent of the server's settings, and begins a transaction that writes the copy. */
export async function beginLoading(client: Client): Promise<void> {
  // Functions may refer to tables that do not exist yet.
  await client.query(`set timezone = 'UTC'; set lc_monetary = 'C'; set check_function_bodies = off`)
  await client.query('begin')
}

/** Commits the transaction that `beginLoading` began. */
export async function commit(client: Client): Promise<void> {
  await client.query('commit')
}

/** Collects the statistics without which Postgres would choose slow plans for the copy. */
export async function analyze(client: Client): Promise<void> {
  await client.query('analyze')
}

/** Codes of errors caused by an object that does not exist yet, or by a materialized view without content. */
const missingObjectCodes = new Set(['42P01', '42704', '42883', '42703', '3F000', '55000'])

/**
 * Runs the statements in an order in which each finds the objects that it needs: statements that fail because of a missing object are
 * repeated after the others.
 * @throws DatabaseError of the first statement that cannot succeed
 */
export async function applyDefinitions(client: Client, definitions: Definition[]): Promise<void> {
  for (let pending = definitions; pending.length > 0;) {
    const failed: Definition[] = []
    let firstError: unknown = null
    for (const definition of pending) {
      await client.query('savepoint definition')
      try {
        await client.query(definition.sql)
        await client.query('release savepoint definition')
      } catch (error) {
        if (!(error instanceof DatabaseError && missingObjectCodes.has(error.code ?? ''))) throw error
        firstError ??= error
        await client.query('rollback to savepoint definition')
        failed.push(definition)
      }
    }
    if (failed.length === pending.length) throw firstError
    pending = failed
  }
}

/**
 * Whether both are connections to the same server: acquires a random lock on one, which the other sees. Two names in
 * SHOAL_SQUIDS_DATABASE_URL may be addresses of one server.
 */
export async function isSameServer(one: Database, other: Database): Promise<boolean> {
  const client = await one.pool.connect()
  const [first, second] = [randomInt(2 ** 31), randomInt(2 ** 31)]
  try {
    await client.query('select pg_advisory_lock($1, $2)', [first, second])
    const { rowCount } = await other.pool.query(
      `select from pg_locks where locktype = 'advisory' and classid::int8 = $1 and objid::int8 = $2 and granted`,
      [first, second],
    )
    return rowCount !== 0
  } finally {
    await client.query('select pg_advisory_unlock($1, $2)', [first, second]).catch(() => undefined)
    client.release()
  }
}
