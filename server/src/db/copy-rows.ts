import type { Client } from 'pg'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'

/** A table with rows to copy. */
export type CopiedTable = {
  /** The quoted name, with its schema. */
  name: string
  /** Quoted names of the columns that are not generated. */
  stored: string[]
  bytes: number
  /** The estimate of Postgres; -1 if unknown. */
  rows: number
}

/**
 * Streams rows of a table from one database to the other, and returns their bytes. Uses the text format: the binary format of arrays
 * contains the id of the elements' type, which differs between databases. `limit`: the number of rows; null for all.
 */
export async function copyTable(
  from: Client,
  to: Client,
  { name, stored }: CopiedTable,
  { limit, onBytes }: { limit: number | null; onBytes: (bytes: number) => void },
): Promise<number> {
  let bytes = 0
  const counter = new Transform({
    transform: (chunk: Buffer, _, done) => {
      bytes += chunk.length
      onBytes(chunk.length)
      done(null, chunk)
    },
  })
  const columns = stored.join(', ')
  // Postgres accepts no empty list of columns.
  const target = columns === '' ? name : `${name} (${columns})`
  const rows = limit === null ? target : `(select ${columns} from only ${name} limit ${limit})`
  await pipeline(from.query(copyTo(`copy ${rows} to stdout`)), counter, to.query(copyFrom(`copy ${target} from stdin`)))
  return bytes
}

/** The number of a table's rows, and a checksum that does not depend on their order. */
export type TableSum = { rows: string; sum: string }

/** Computes the checksum of a table by reading all its rows. `columns`: quoted names; default: all, in the order of the table. */
export async function sumTable(client: Client, name: string, columns: string[] = ['t.*']): Promise<TableSum> {
  const { rows } = await client.query<TableSum>(
    `select count(*)::text as rows, coalesce(sum(hashtextextended(row(${columns.join(', ')})::text, 0)::numeric), 0)::text as sum from only ${name} t`,
  )
  if (!rows[0]) throw new Error('Postgres returned no row')
  return rows[0]
}

/** Ends the connection with `cleanup`, or as soon as the signal aborts. @throws the signal's reason if it has aborted */
export function endWith(cleanup: AsyncDisposableStack, signal: AbortSignal, client: Client): Client {
  const end = () => client.end().catch(() => undefined)
  const onAbort = () => void end()
  signal.addEventListener('abort', onAbort, { once: true })
  cleanup.defer(async () => {
    signal.removeEventListener('abort', onAbort)
    await end()
  })
  signal.throwIfAborted()
  return client
}
