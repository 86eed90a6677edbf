import type { Client } from 'pg'
import { randomBytes } from 'node:crypto'
import { copyTable, sumTable } from '../../../db/copy-rows.ts'
import type { SquidDatabaseRow } from '../database-store.ts'
import { connectToTenant } from '../tenant-client-store.ts'
import { connectAsOwner, type DatabaseLocation } from './copy-database.ts'
import { applyDefinitions, beginLoading, beginReading, commit, listCopiedTables } from './copy-store.ts'
import { readSampleDefinitions } from './definitions-store.ts'
import { locationOf, type MoveApp } from './prepare-move.ts'
import { createScratch, dropScratch, listScratch } from './scratch-store.ts'

/** A measured estimate of a move. */
type MoveEstimate = {
  /** The size of all tables on the source. */
  bytes: number
  /** The size of the sample that was copied. */
  sampleBytes: number
  /** Bytes of tables per second, including the time for their indexes and the verification. */
  bytesPerSecond: number
  /** The expected duration of the copy of all rows. */
  copyMs: number
}

/** The size of the rows that are copied to measure the rate. */
const maxSampleBytes = 32 * 2 ** 20

/**
 * Copies some rows of each table into a scratch database on the target, and builds keys, indexes and checksums there, as a move does.
 * Computes how long the move of all rows takes at this rate. Stops no program.
 */
export async function estimateMove(app: MoveApp, row: SquidDatabaseRow, server: string): Promise<MoveEstimate> {
  const { cluster } = app.databaseHosts.get(server)
  for (const name of await listScratch(cluster)) await dropScratch(cluster, name).catch(() => undefined)
  const name = `shoal_probe_${randomBytes(6).toString('hex')}`
  const password = randomBytes(24).toString('base64url')
  const scratch: DatabaseLocation = { cluster, database: name, role: name, readRole: name, password }
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => dropScratch(cluster, name).catch(() => undefined))
  await createScratch(cluster, name, password)
  const from = await connectAsOwner(locationOf(app, row, row.server))
  cleanup.defer(() => from.end().catch(() => undefined))
  const to = await connectToTenant(cluster, {
    database: name,
    as: { role: name, password: scratch.password },
    applicationName: 'shoal move',
  })
  cleanup.defer(() => to.end().catch(() => undefined))
  return await measure(from, to)
}

async function measure(from: Client, to: Client): Promise<MoveEstimate> {
  const startedMs = performance.now()
  await beginReading(from)
  const tables = await listCopiedTables(from)
  const definitions = await readSampleDefinitions(from)
  await beginLoading(to)
  await applyDefinitions(to, definitions.beforeRows)
  const schemaMs = performance.now() - startedMs
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0)
  const share = Math.min(1, maxSampleBytes / Math.max(1, bytes))
  const rowsStartedMs = performance.now()
  for (const table of tables) {
    const limit = share === 1 ? null : Math.ceil(Math.max(table.rows, 1000) * share)
    await copyTable(from, to, table, { limit, onBytes: () => {} })
  }
  await applyDefinitions(to, definitions.afterRows)
  await commit(to)
  // A move computes the checksums of both sides concurrently, so the time for one side is enough.
  for (const { name } of tables) await sumTable(to, name)
  const rowsMs = performance.now() - rowsStartedMs
  const sampleBytes = (await listCopiedTables(to)).reduce((sum, table) => sum + table.bytes, 0)
  const bytesPerSecond = (Math.max(1, sampleBytes) / rowsMs) * 1000
  const copyMs = schemaMs + Math.max(rowsMs, (bytes / bytesPerSecond) * 1000)
  return { bytes, sampleBytes, bytesPerSecond, copyMs }
}
