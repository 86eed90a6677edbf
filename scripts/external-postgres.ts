import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../runtime/src/index.ts'
import { ensureDatabase } from '../server/src/db/database.ts'

export type ExternalPostgres = {
  /** Returns the connection URL of a superuser for `database`. */
  url: (database: string) => string
  /** The postmaster's process id. */
  pid: () => number
  stop: () => Promise<void>
}

/** Starts a Postgres server that Shoal does not manage, on loopback, with an empty database `shoal`. `stop` deletes its data. */
export async function startExternalPostgres(settings: Record<string, string> = {}): Promise<ExternalPostgres> {
  const dir = mkdtempSync(join(tmpdir(), 'pg-'))
  // Postgres does not run as root: if this process does, Postgres runs as another user.
  chmodSync(dir, 0o711)
  const postgres = await startEmbeddedPostgres({ dir, settings: { fsync: 'off', ...settings } })
  await ensureDatabase(postgres.url('postgres'), 'shoal')
  return {
    url: postgres.url,
    pid: () => Number(readFileSync(join(dir, 'data/postmaster.pid'), 'utf8').split('\n')[0]),
    stop: async () => {
      await postgres.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
