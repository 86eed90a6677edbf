import { type Stats } from 'node:fs'
import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bufferEntry, fileEntry, treeEntries } from './read-entries.ts'
import type { TarEntry } from './tar-stream.ts'

/** Only what is in them is left out: Postgres wants the folders (Postgres manual, "Backing Up the Data Directory"). */
const EMPTIED = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
])
/** Of the running server, of an earlier backup, or a log: nothing that a restored cluster needs. */
const LEFT_OUT = new Set([
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
 * The data directory of a cluster that writes on between `pg_backup_start` and `pg_backup_stop`; without its log of writes, and
 * torn where it is written to: only together with the log of that time it is whole.
 */
export async function* clusterEntries(dataDir: string, path: string): AsyncGenerator<TarEntry> {
  yield { type: 'Directory', path, mode: 0o700, mtime: (await lstat(dataDir)).mtime }
  const leavesOut = (below: string, stats: Stats) =>
    LEFT_OUT.has(below) ||
    below === CONTROL ||
    TEMPORARY.test(below) ||
    stats.isSymbolicLink() ||
    EMPTIED.has(below.split('/').slice(0, -1)[0] ?? '')
  yield* treeEntries(dataDir, path, leavesOut)
  yield bufferEntry(`${path}/${CONTROL}`, await readWhole(join(dataDir, CONTROL)), 0o600, new Date())
}

/** Segments of the log of writes, by name. @throws Error when one is missing */
export async function* walEntries(dataDir: string, path: string, segments: string[]): AsyncGenerator<TarEntry> {
  for (const segment of segments) {
    const entry = await fileEntry(join(dataDir, 'pg_wal', segment), `${path}/pg_wal/${segment}`)
    if (!entry) throw new Error(`Postgres has removed ${segment} of its log, which the backup needs. Try again.`)
    yield entry
  }
}

/** The one file that nothing mends when it is read while it is written: read until it is the same twice. */
async function readWhole(file: string): Promise<Buffer> {
  for (let last = await readFile(file); ;) {
    const next = await readFile(file)
    if (next.equals(last)) return next
    last = next
  }
}
