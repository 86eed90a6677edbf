import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'

const folder = join(import.meta.dirname, '../../migrations')

/** Any number; the same for all copies of Shoal on one database. */
const lockKey = 5_404_019

/**
 * Brings the schema up to date, each file once and in the order of their names, under a lock so that several copies may
 * start at once. Answers the names that were applied.
 */
export async function migrate(pool: pg.Pool): Promise<string[]> {
  const client = await pool.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [lockKey])
    await client.query(
      'create table if not exists shoal_migrations (name text primary key, applied_at timestamptz not null default now())',
    )
    const { rows } = await client.query<{ name: string }>('select name from shoal_migrations')
    const done = new Set(rows.map((r) => r.name))
    const files = (await knownMigrations()).filter((f) => !done.has(f))
    for (const file of files) await apply(client, file)
    return files
  } finally {
    // Closing the connection gives the lock back whatever happened.
    client.release(true)
  }
}

/** Names in the order in which they are applied. */
export const knownMigrations = async (): Promise<string[]> =>
  (await readdir(folder)).filter((f) => f.endsWith('.sql')).sort()

async function apply(client: pg.PoolClient, file: string): Promise<void> {
  await client.query('begin')
  await client.query(await readFile(join(folder, file), 'utf8'))
  await client.query('insert into shoal_migrations (name) values ($1)', [file])
  await client.query('commit')
}
