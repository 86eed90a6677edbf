import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { App } from '../../../app.ts'
import { minutes } from '../../../clock.ts'
import { refuse } from '../../../errors.ts'
import { selectSquidDatabase } from '../database-store.ts'
import {
  endReading,
  listTables,
  openExport,
  rowsOf,
  statementsAfter,
  statementsBefore,
  type ExportConnection,
} from './reading-store.ts'

/** Bounds how long a slow reader can hold a snapshot of the database. */
const maxMs = minutes(60)

type Exported = { squidId: number; reference: string; signal: AbortSignal }

/**
 * The current contents of the version's database as a gzipped SQL script, which `psql` restores into an empty database: schemas,
 * enumerations, sequences, tables with their rows, constraints and indexes. Views, functions and triggers are left to the squid's
 * migrations. Rows are streamed, so memory use does not depend on the size of the database.
 * @throws Refusal 405 without a database, and while another export of it runs
 */
export async function exportDatabase(app: App, { squidId, reference, signal }: Exported): Promise<Readable> {
  const row = await selectSquidDatabase(app.db, squidId)
  if (!row) throw refuse('NO_DATABASE', `${reference} has no database.`)
  const url = new URL(app.squidsDatabase.url)
  url.pathname = `/${encodeURIComponent(row.database)}`
  const reading = await openExport(url.href, row.role)
  if (reading === null) throw refuse('EXPORT_RUNNING', 'An export of this database is running already.')
  const head = `-- The database of ${reference} on ${app.clock.now().toISOString()}. Into an empty one: gunzip -c <file> | psql <url>`
  const script = Readable.from(scriptOf(reading, head), { objectMode: false })
  const compressed = createGzip()
  const stop = AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
  const abort = () => script.destroy(new Error('The export was stopped'))
  stop.addEventListener('abort', abort, { once: true })
  script.once('error', (error) => compressed.destroy(error))
  script.once('close', () => {
    stop.removeEventListener('abort', abort)
    void endReading(reading)
  })
  compressed.once('close', () => script.destroy())
  return script.pipe(compressed)
}

async function* scriptOf(reading: ExportConnection, head: string): AsyncGenerator<Buffer> {
  const lines = (...text: string[]) => Buffer.from(`${text.join('\n')}\n`)
  yield lines(head, `set client_encoding = 'UTF8';`, 'set standard_conforming_strings = on;', `set search_path to '';`)
  yield lines(...(await statementsBefore(reading)))
  for (const { name, columns, stored } of await listTables(reading)) {
    yield lines(`create table ${name} (${columns.join(', ')});`)
    if (stored.length === 0) continue
    const list = `${name} (${stored.join(', ')})`
    yield lines(`copy ${list} from stdin;`)
    yield* rowsOf(reading, list)
    yield lines('\\.', '')
  }
  yield lines(...(await statementsAfter(reading)))
}
