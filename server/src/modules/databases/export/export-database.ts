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

/** A caller who reads slowly holds a snapshot of the database so long at most. */
const maxMs = minutes(60)

type Exported = { squidId: number; reference: string; signal: AbortSignal }

/**
 * The version's database as it is at this moment, as a compressed SQL script that `psql` plays into an empty one: schemas,
 * enumerations, sequences, tables with their rows, constraints and indexes. Views, functions and triggers are a squid's own
 * migrations to make. Rows are streamed: it takes no room here, however large the database is.
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
