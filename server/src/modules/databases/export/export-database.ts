import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { App } from '../../../app.ts'
import { minutes } from '../../../clock.ts'
import { asUnavailable, isUnavailable } from '../../../db/unavailable.ts'
import { refuse } from '../../../errors.ts'
import { selectSquidDatabase } from '../database-store.ts'
import { ownerPasswordOf } from '../passwords.ts'
import {
  closeExport,
  listTables,
  openExport,
  copyRows,
  statementsAfterRows,
  statementsBeforeRows,
  type ExportConnection,
  type ExportProblem,
} from './reading-store.ts'

const unavailableMessage = 'The Postgres server of this database does not respond. Please try again in a moment.'

/** The maximum duration of an export, so that a slow client does not keep a snapshot of the database open for longer. */
const maxExportMs = minutes(60)

const refusals: Record<ExportProblem, [code: string, message: string]> = {
  running: ['EXPORT_RUNNING', 'An export of this database is running already.'],
  'too many tables': ['EXPORT_TOO_LARGE', 'This database has too many tables and columns for an export. Use pg_dump.'],
  'no connection': [
    'EXPORT_REFUSED',
    'The database rejected the connection: all connections of its role are in use, its password was changed, or the database is full and has functions that run as its owner.',
  ],
}

type ExportRequest = { squidId: number; reference: string; signal: AbortSignal }

/**
 * Exports the current contents of the version's database as a gzipped SQL script, which `psql` restores into an empty database:
 * schemas, enumerations, sequences, tables with their rows, constraints and indexes. Views, functions and triggers are omitted:
 * the squid's migrations create them. Rows are streamed, so memory use does not depend on the size of the database.
 * @throws Refusal 405 when there is no database, its server does not respond, another export of it is running, it has too many
 * tables, or its role cannot connect
 */
export async function exportDatabase(app: App, { squidId, reference, signal }: ExportRequest): Promise<Readable> {
  const row = await selectSquidDatabase(app.db, squidId)
  if (!row) throw refuse('NO_DATABASE', `${reference} has no database.`)
  const password = ownerPasswordOf(app.sealer, row)
  const { cluster } = app.databaseHosts.get(row.server)
  const opened = await openExport(cluster, { database: row.database, role: row.role, password }).catch(
    (error: unknown) => {
      throw isUnavailable(asUnavailable(error)) ? refuse('DATABASE_AWAY', unavailableMessage) : error
    },
  )
  if ('problem' in opened) throw refuse(...refusals[opened.problem])
  const { connection } = opened
  const header = `-- The database of ${reference} on ${app.clock.now().toISOString()}. Restore into an empty database: gunzip -c <file> | psql <url>`
  const script = Readable.from(scriptOf(connection, header), { objectMode: false })
  const compressed = createGzip()
  const stopSignal = AbortSignal.any([signal, AbortSignal.timeout(maxExportMs)])
  const abort = () => script.destroy(new Error('The export was stopped'))
  stopSignal.addEventListener('abort', abort, { once: true })
  script.once('error', (error) => compressed.destroy(error))
  // The export may fail before the caller reads it. Without a listener, the error would end the process; the caller receives the error
  // when it reads.
  compressed.on('error', () => undefined)
  script.once('close', () => {
    stopSignal.removeEventListener('abort', abort)
    void closeExport(connection)
  })
  compressed.once('close', () => script.destroy())
  return script.pipe(compressed)
}

async function* scriptOf(connection: ExportConnection, header: string): AsyncGenerator<Buffer> {
  const lines = (...text: string[]) => Buffer.from(`${text.join('\n')}\n`)
  yield lines(
    header,
    `set client_encoding = 'UTF8';`,
    'set standard_conforming_strings = on;',
    `set search_path to '';`,
  )
  yield lines(...(await statementsBeforeRows(connection)))
  for (const { name, columns, stored } of await listTables(connection)) {
    yield lines(`create table ${name} (${columns.join(', ')});`)
    if (stored.length === 0) continue
    const target = `${name} (${stored.join(', ')})`
    yield lines(`copy ${target} from stdin;`)
    yield* copyRows(connection, target)
    yield lines('\\.', '')
  }
  yield lines(...(await statementsAfterRows(connection)))
}
