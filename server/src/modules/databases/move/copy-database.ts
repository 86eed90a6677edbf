import type { Client } from 'pg'
import { copyTable, endWith, sumTable } from '../../../db/copy-rows.ts'
import type { Database } from '../../../db/database.ts'
import { connectToTenant } from '../tenant-client-store.ts'
import {
  analyze,
  applyDefinitions,
  beginLoading,
  beginReading,
  commit,
  lockAndExportSnapshot,
  listCopiedTables,
  type LockedSnapshot,
} from './copy-store.ts'
import type { Definition } from './definition.ts'
import { readDefinitions } from './definitions-store.ts'

/** The database of a version on one server, with the role that owns it. */
export type DatabaseLocation = { cluster: Database; database: string; role: string; readRole: string; password: string }

/** The copy differs from its source, or an object cannot be copied. The message names the objects. */
export class CopyDiffers extends Error {
  override name = 'CopyDiffers'
}

/** Receives the number of bytes copied so far, and the estimated total. */
export type CopyProgress = (copied: number, total: number) => void
/** What was copied. `bytes` is the size of the rows as text. */
export type Copied = { tables: number; rows: number; bytes: number }

/** Connects as the owner of the database, because statements of Shoal's own role must not run code of the tenant. */
export const connectAsOwner = ({ cluster, database, role, password }: DatabaseLocation): Promise<Client> =>
  connectToTenant(cluster, { database, as: { role, password }, applicationName: 'shoal move' })

/**
 * Copies all objects and rows into an empty database on another server, and compares both. No program can write to the source
 * until the caller releases the returned snapshot. Aborting the signal ends the connections.
 * @throws CopyDiffers if the copy is not equal to the source
 */
export async function copyDatabase(
  source: DatabaseLocation,
  target: DatabaseLocation,
  { signal, onProgress }: { signal: AbortSignal; onProgress: CopyProgress },
): Promise<{ lockedSnapshot: LockedSnapshot; copied: Copied }> {
  await using cleanup = new AsyncDisposableStack()
  const lockedSnapshot = await lockAndExportSnapshot(source.cluster, source.database)
  const releaseOnFailure = cleanup.use(new AsyncDisposableStack())
  releaseOnFailure.defer(lockedSnapshot.release)
  const from = endWith(cleanup, signal, await connectAsOwner(source))
  const to = endWith(cleanup, signal, await connectAsOwner(target))
  await beginReading(from, lockedSnapshot.snapshot)
  const { readRole } = source
  const tables = await listCopiedTables(from)
  const unlocked = tables.find(({ name }) => !lockedSnapshot.tables.has(name))
  if (unlocked) throw new CopyDiffers(`The table ${unlocked.name} was created while the copy began`)
  const definitions = await readDefinitions(from, readRole)
  await beginLoading(to)
  await applyDefinitions(to, definitions.beforeRows)
  const total = tables.reduce((sum, { bytes }) => sum + bytes, 0)
  let bytes = 0
  const onBytes = (more: number) => onProgress((bytes += more), total)
  for (const table of tables) await copyTable(from, to, table, { limit: null, onBytes })
  await applyDefinitions(to, definitions.afterRows)
  await applyDefinitions(to, definitions.access)
  await commit(to)
  await analyze(to)
  const all = [...definitions.beforeRows, ...definitions.afterRows, ...definitions.access]
  const copy = await readDefinitions(to, readRole)
  const different = differences(all, [...copy.beforeRows, ...copy.afterRows, ...copy.access])
  if (different.length > 0) throw new CopyDiffers(`The copy differs: ${joinNames(different)}`)
  let rows = 0
  for (const { name } of tables) {
    const [one, other] = await Promise.all([sumTable(from, name), sumTable(to, name)])
    if (one.rows !== other.rows || one.sum !== other.sum)
      throw new CopyDiffers(`The rows of ${name} differ: ${one.rows} in the source, ${other.rows} in the copy`)
    rows += Number(one.rows)
  }
  releaseOnFailure.move()
  return { lockedSnapshot, copied: { tables: tables.length, rows, bytes } }
}

/** Returns the names of objects that only one side has, or that differ. */
export function differences(one: Definition[], other: Definition[]): string[] {
  const texts = (definitions: Definition[]) =>
    new Set(definitions.map(({ kind, name, sql }) => `${kind} ${name}\n${sql}`))
  return [...texts(one).symmetricDifference(texts(other))].map((text) => text.split('\n')[0] ?? '').toSorted()
}

const maxListed = 20

/** Joins up to 20 distinct names for a message, and adds the number of the others. */
export const joinNames = (names: string[]): string => {
  const distinct = [...new Set(names)]
  const more = distinct.length - maxListed
  return `${distinct.slice(0, maxListed).join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}
