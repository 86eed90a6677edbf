import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { findViolations } from './constraint-violations.ts'

const migrationsFolder = join(import.meta.dirname, '../../migrations')

/** An arbitrary number for the lock that all Shoal processes on one database share. */
const lockKey = 5_404_019

const initialMigration = '0000_initial.sql'

/**
 * The previous release, and its newest migration. The previous release also runs on the schema of this one, so that an upgrade can be
 * undone: later migrations only add objects. Releases before it refuse to start on this schema.
 */
export const previousRelease = { version: '0.1.0', newestMigration: '0015_fence_of_hosts.sql' } as const

/** Migrations of development releases. Together they equal the initial migration. */
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

/** The database cannot be migrated. The message names the migration and how the operator can fix the problem. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

type Migration = { name: string; sql: string; checksum: string }
/** `needs`: the newest migration that a release must include to run on the schema; null: any release can. */
type Applied = { name: string; checksum: string | null; needs: string | null }

/**
 * Applies pending migrations in the order of their names, each in a transaction. A lock allows several processes to start
 * concurrently. Returns the names of the applied migrations.
 * @throws MigrationError if the database is too old or too new, an applied migration was edited, or rows break a new constraint
 */
export async function migrate(pool: pg.Pool, folder = migrationsFolder): Promise<string[]> {
  const migrations = await readMigrations(folder)
  const client = await pool.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [lockKey])
    await client.query(
      'create table if not exists shoal_migrations (name text primary key, applied_at timestamptz not null default now())',
    )
    await client.query(
      'alter table shoal_migrations add column if not exists checksum text, add column if not exists needs text',
    )
    const applied = await readAppliedMigrations(client)
    verifyIsNotOlder(migrations, applied)
    await adoptInitialMigration(client, migrations, applied)
    await verifyChecksums(client, migrations, applied)
    const pending = migrations.filter(({ name }) => !applied.has(name))
    for (const migration of pending) await applyMigration(client, migration)
    return pending.map(({ name }) => name)
  } finally {
    // Closing the connection always releases the lock.
    client.release(true)
  }
}

/** Returns the names of all migrations that a database of this or an earlier release may have. */
export const knownMigrations = async (): Promise<string[]> => [
  ...replacedByInitial,
  ...(await namesIn(migrationsFolder)),
]

const namesIn = async (folder: string) => (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()

async function readMigrations(folder: string): Promise<Migration[]> {
  const read = async (name: string) => {
    const sql = await readFile(join(folder, name), 'utf8')
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
  }
  return await Promise.all((await namesIn(folder)).map(read))
}

async function readAppliedMigrations(client: pg.PoolClient): Promise<Map<string, Applied>> {
  const { rows } = await client.query<Applied>('select name, checksum, needs from shoal_migrations')
  return new Map(rows.map((row) => [row.name, row]))
}

/** Marks the initial migration as applied, in the database and in `applied`, if all migrations that it replaces are applied. */
async function adoptInitialMigration(
  client: pg.PoolClient,
  migrations: Migration[],
  applied: Map<string, Applied>,
): Promise<void> {
  const missing = replacedByInitial.filter((name) => !applied.has(name))
  if (missing.length === replacedByInitial.length) return
  if (missing.length > 0)
    throw new MigrationError(
      `The database was created by a development release and lacks ${missing[0]}. Start the last development release on it once, then this release.`,
    )
  const checksum = migrations.find(({ name }) => name === initialMigration)?.checksum ?? null
  await client.query('begin')
  await client.query('delete from shoal_migrations where name = any($1)', [replacedByInitial])
  await client.query('insert into shoal_migrations (name, checksum) values ($1, $2)', [initialMigration, checksum])
  await client.query('commit')
  for (const name of replacedByInitial) applied.delete(name)
  applied.set(initialMigration, { name: initialMigration, checksum, needs: null })
}

/** @throws MigrationError if a later release than the next one migrated the database */
function verifyIsNotOlder(migrations: Migration[], applied: Map<string, Applied>): void {
  const newest = migrations.at(-1)?.name ?? ''
  const tooNew = [...applied.values()].filter(({ needs }) => needs !== null && needs > newest)
  if (tooNew.length === 0) return
  const needed = tooNew.map(({ needs }) => needs ?? '').reduce((latest, name) => (name > latest ? name : latest))
  throw new MigrationError(
    `A later release migrated this database, and this one is too old for it: it lacks ${needed}. Install the release that was used last, or the one before it. Nothing was changed.`,
  )
}

async function verifyChecksums(
  client: pg.PoolClient,
  migrations: Migration[],
  applied: Map<string, Applied>,
): Promise<void> {
  for (const { name, checksum } of migrations) {
    const appliedMigration = applied.get(name)
    if (!appliedMigration || appliedMigration.checksum === checksum) continue
    if (appliedMigration.checksum !== null)
      throw new MigrationError(
        `Migration ${name} was edited after this database applied it. Restore the file, and make the change in a new migration.`,
      )
    await client.query('update shoal_migrations set checksum = $2 where name = $1', [name, checksum])
  }
}

async function applyMigration(client: pg.PoolClient, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('begin')
  await client.query(sql)
  const violations = await findViolations(client)
  if (violations.length > 0)
    throw new MigrationError(
      `Migration ${name} was not applied, because rows violate its constraints:\n${violations.join('\n')}\nCorrect or delete these rows, then start again.`,
    )
  const { newestMigration } = previousRelease
  const needs = name > newestMigration ? newestMigration : null
  await client.query('insert into shoal_migrations (name, checksum, needs) values ($1, $2, $3)', [
    name,
    checksum,
    needs,
  ])
  await client.query('commit')
}
