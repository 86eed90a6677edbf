import { type Stats } from 'node:fs'
import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bufferEntry, fileEntry, treeEntries } from './read-entries.ts'
import type { TarEntry } from './tar-stream.ts'

/** Folders whose content is excluded; Postgres requires the folders themselves (its manual, "Backing Up the Data Directory"). */
const EMPTY_FOLDERS = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
])
/** Files of the running server, of an earlier backup, and logs, which a restored cluster does not need. */
const EXCLUDED_FILES = new Set([
  'postmaster.pid',
  'postmaster.opts',
  'postgresql.auto.conf.tmp',
  'current_logfiles.tmp',
  'backup_label',
  'backup_label.old',
  'tablespace_map',
  'tablespace_map.old',
  'backup_manifest',
  'postgres.log',
])
/** Temporary files and relations, and a cache that Postgres recreates. */
const TEMPORARY = /(^|\/)(pgsql_tmp[^/]*|t\d+_\d+(_\w+)?(\.\d+)?|pg_internal\.init(\.\d+)?)$/
const CONTROL = 'global/pg_control'

/**
 * Yields the data directory of a running Postgres cluster, without its WAL. Call it between `pg_backup_start` and `pg_backup_stop`: the copy
 * is inconsistent until Postgres recovers it with the WAL of that period.
 */
export async function* clusterEntries(dataDir: string, path: string): AsyncGenerator<TarEntry> {
  yield { type: 'Directory', path, mode: 0o700, mtime: (await lstat(dataDir)).mtime }
  const isExcluded = (relativePath: string, stats: Stats) =>
    EXCLUDED_FILES.has(relativePath) ||
    relativePath === CONTROL ||
    TEMPORARY.test(relativePath) ||
    stats.isSymbolicLink() ||
    EMPTY_FOLDERS.has(relativePath.split('/').slice(0, -1)[0] ?? '')
  yield* treeEntries(dataDir, path, isExcluded)
  yield bufferEntry(`${path}/${CONTROL}`, await readStable(join(dataDir, CONTROL)), 0o600, new Date())
}

/** Yields WAL segments by name. @throws Error when one is missing */
export async function* walEntries(dataDir: string, path: string, segments: string[]): AsyncGenerator<TarEntry> {
  for (const segment of segments) {
    const entry = await fileEntry(join(dataDir, 'pg_wal', segment), `${path}/pg_wal/${segment}`)
    if (!entry) throw new Error(`Postgres has removed ${segment} from its WAL, which the backup needs. Try again.`)
    yield entry
  }
}

/** Reads the control file until two reads are equal, since the server may be writing it and recovery does not repair it. */
async function readStable(file: string): Promise<Buffer> {
  for (let previous = await readFile(file); ;) {
    const current = await readFile(file)
    if (current.equals(previous)) return current
    previous = current
  }
}
