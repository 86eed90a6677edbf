import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** A physical backup in progress. When its session ends for any reason, Postgres ends the backup and no longer keeps WAL for it. */
export type ClusterBackup = {
  postgres: { postgresVersion: string; postgresMajor: number; databases: number }
  /** Aborts when the session is lost. */
  lost: AbortSignal
  /** Must be called when all files have been copied. Returns the content of `backup_label` and the WAL segments to copy. */
  stop: () => Promise<{ label: string; segments: string[] }>
  close: () => Promise<void>
}

/**
 * Begins a backup with the low-level API (Postgres manual, "Making a Base Backup Using the Low Level API"): a temporary replication
 * slot of the session keeps the WAL, and a checkpoint starts immediately.
 * @throws Error if the cluster has tablespaces outside its data directory
 */
export async function beginClusterBackup(url: string): Promise<ClusterBackup> {
  const client = new pg.Client({ connectionString: url, application_name: 'shoal backup', keepAlive: true })
  const lost = new AbortController()
  client.on('error', (error) => lost.abort(new Error(`Postgres ended the backup: ${error.message}`, { cause: error })))
  await client.connect()
  try {
    await rejectTablespaces(client)
    const postgres = await readPostgres(client)
    const slot = `shoal_backup_${randomBytes(6).toString('hex')}`
    await client.query('select pg_create_physical_replication_slot($1, true, true)', [slot])
    const { rows } = await client.query<{ segment: string }>(
      "select pg_walfile_name(pg_backup_start('shoal', fast => true)) as segment",
    )
    const [{ segment: first } = { segment: '' }] = rows
    const stop = async () => {
      const { label, last } = await endBackup(client)
      await rejectTablespaces(client)
      return { label, segments: segmentsBetween(first, last) }
    }
    return { postgres, lost: lost.signal, stop, close: () => client.end() }
  } catch (error) {
    await client.end()
    throw error
  }
}

async function endBackup(client: pg.Client): Promise<{ label: string; last: string }> {
  const { rows } = await client.query<{ label: string; last: string }>(
    'select labelfile as label, pg_walfile_name(lsn) as last from pg_backup_stop(wait_for_archive => false)',
  )
  const [row] = rows
  if (!row) throw new Error('Postgres did not end the backup.')
  return row
}

async function readPostgres(client: pg.Client): Promise<ClusterBackup['postgres']> {
  const { rows } = await client.query<{ version: string; number: number; databases: number }>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
      (select count(*)::int from pg_database where not datistemplate and datname <> 'postgres') as databases`,
  )
  const [row] = rows
  if (!row) throw new Error('Postgres did not report its version.')
  const { version, number, databases } = row
  return { postgresVersion: version, postgresMajor: Math.floor(number / 10_000), databases }
}

/** Returns the name of the newest migration of the control plane's database. */
export async function readSchema(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url, application_name: 'shoal backup' })
  await client.connect()
  try {
    const { rows } = await client.query<{ schema: string }>('select max(name) as schema from shoal_migrations')
    return rows[0]?.schema ?? ''
  } finally {
    await client.end()
  }
}

async function rejectTablespaces(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "select spcname as name from pg_tablespace where spcname not in ('pg_default', 'pg_global')",
  )
  if (rows.length > 0)
    throw new Error(
      `The tablespaces ${rows.map(({ name }) => name).join(', ')} are outside the data directory, and a backup would not contain them. Move their contents to pg_default and drop them.`,
    )
}

/** Returns the names of the WAL segments from `first` to `last`. With 16 MB each (the default), 256 have the same middle part. */
function segmentsBetween(first: string, last: string): string[] {
  const timeline = first.slice(0, 8)
  const numberOf = (name: string) => parseInt(name.slice(8, 16), 16) * 256 + parseInt(name.slice(16), 16)
  const hex = (part: number) => part.toString(16).toUpperCase().padStart(8, '0')
  const from = numberOf(first)
  return Array.from({ length: numberOf(last) - from + 1 }, (_, index) => {
    const number = from + index
    return timeline + hex(Math.floor(number / 256)) + hex(number % 256)
  })
}
