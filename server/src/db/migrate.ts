import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { breakingRows } from './breaking-rows.ts'

const shipped = join(import.meta.dirname, '../../migrations')

/** An arbitrary number that all Shoal processes on one database share. */
const lockKey = 5_404_019

const initial = '0000_initial.sql'

/** Migrations of development releases. Together they equal the initial migration, so a database with all of them has that one. */
const replacedByInitial = [
  '0000_people.sql',
  '0001_audit_log_append_only.sql',
  '0002_mails.sql',
  '0003_logs.sql',
  '0004_rpc_and_portal.sql',
  '0005_people_two.sql',
  '0006_mails_in_order.sql',
  '0007_ingress.sql',
  '0008_unanswered_processors.sql',
  '0009_metrics.sql',
  '0010_secrets-retired.sql',
  '0011_billing.sql',
  '0012_alerts.sql',
  '0013_freshness.sql',
  '0014_leaving.sql',
  '0015_stillness.sql',
  '0016_invoice-seller.sql',
  '0017_claims-and-gateways.sql',
  '0018_data-sources.sql',
  '0019_container-runs.sql',
]

/** The database cannot be migrated. The message names the migration and what the operator can do. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

type Migration = { name: string; sql: string; checksum: string }
type Applied = { name: string; checksum: string | null }

/**
 * Applies pending migrations in the order of their names, each in a transaction. A lock allows several processes to start
 * concurrently. Returns the names of the migrations it applied.
 * @throws MigrationError if the database is too old, an applied migration was edited, or rows break a new constraint
 */
export async function migrate(pool: pg.Pool, folder = shipped): Promise<string[]> {
  const migrations = await readMigrations(folder)
  const client = await pool.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [lockKey])
    await client.query(
      'create table if not exists shoal_migrations (name text primary key, applied_at timestamptz not null default now())',
    )
    await client.query('alter table shoal_migrations add column if not exists checksum text')
    await replaceOld(client, migrations)
    const applied = await appliedMigrations(client)
    await verify(client, migrations, applied)
    const pending = migrations.filter(({ name }) => !applied.has(name))
    for (const migration of pending) await apply(client, migration)
    return pending.map(({ name }) => name)
  } finally {
    // Closing the connection releases the lock in every case.
    client.release(true)
  }
}

/** The names of all migrations that a database of this or an earlier release may have. */
export const knownMigrations = async (): Promise<string[]> => [...replacedByInitial, ...(await namesIn(shipped))]

const namesIn = async (folder: string) => (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()

async function readMigrations(folder: string): Promise<Migration[]> {
  const read = async (name: string) => {
    const sql = await readFile(join(folder, name), 'utf8')
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
  }
  return await Promise.all((await namesIn(folder)).map(read))
}

async function appliedMigrations(client: pg.PoolClient): Promise<Map<string, Applied>> {
  const { rows } = await client.query<Applied>('select name, checksum from shoal_migrations')
  return new Map(rows.map((row) => [row.name, row]))
}

/** Marks the initial migration as applied in a database that has the migrations it replaces. */
async function replaceOld(client: pg.PoolClient, migrations: Migration[]): Promise<void> {
  const applied = await appliedMigrations(client)
  const missing = replacedByInitial.filter((name) => !applied.has(name))
  if (missing.length === replacedByInitial.length) return
  if (missing.length > 0)
    throw new MigrationError(
      `The database is of a development release that lacks ${missing[0]}. Start the last development release on it once, then this one.`,
    )
  const checksum = migrations.find(({ name }) => name === initial)?.checksum
  await client.query('begin')
  await client.query('delete from shoal_migrations where name = any($1)', [replacedByInitial])
  await client.query('insert into shoal_migrations (name, checksum) values ($1, $2)', [initial, checksum])
  await client.query('commit')
}

async function verify(client: pg.PoolClient, migrations: Migration[], applied: Map<string, Applied>): Promise<void> {
  for (const { name, checksum } of migrations) {
    const before = applied.get(name)
    if (!before || before.checksum === checksum) continue
    if (before.checksum !== null)
      throw new MigrationError(
        `Migration ${name} was edited after this database applied it. Restore the file, and make the change in a new migration.`,
      )
    await client.query('update shoal_migrations set checksum = $2 where name = $1', [name, checksum])
  }
}

async function apply(client: pg.PoolClient, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('begin')
  await client.query(sql)
  const broken = await breakingRows(client)
  if (broken.length > 0)
    throw new MigrationError(
      `Migration ${name} was not applied, because rows break its constraints:\n${broken.join('\n')}\nCorrect or delete these rows, then start again.`,
    )
  await client.query('insert into shoal_migrations (name, checksum) values ($1, $2)', [name, checksum])
  await client.query('commit')
}
