import { escapeIdentifier, escapeLiteral } from 'pg'
import type { Database } from '../db/database.ts'

/** A column of sealed values. */
export type SealedColumn = {
  table: string
  key: string[]
  column: string
  /** The value stands under this name in the column, which holds JSON. */
  field?: string
  /** What ties a value to its row, given its key. */
  contextOf: (key: string[]) => string
}

export type SealedValue = { key: string[]; sealed: string }

const readOf = ({ column, field }: SealedColumn) =>
  field === undefined ? escapeIdentifier(column) : `${escapeIdentifier(column)} ->> ${escapeLiteral(field)}`
const keyOf = ({ key }: SealedColumn) => `array[${key.map((k) => `${escapeIdentifier(k)}::text`).join(', ')}]`

/** Values of the place that do not begin so, `limit` at most. */
export async function listSealedWithOldKeys(
  { pool }: Database,
  place: SealedColumn,
  beginning: string,
  limit: number,
): Promise<SealedValue[]> {
  const { rows } = await pool.query<SealedValue>(
    `select ${keyOf(place)} as key, ${readOf(place)} as sealed from ${escapeIdentifier(place.table)}
     where not starts_with(${readOf(place)}, $1) limit $2`,
    [beginning, limit],
  )
  return rows
}

/** Unless somebody else has changed the value meanwhile. */
export async function replaceSealed(
  { pool }: Database,
  place: SealedColumn,
  { key, sealed }: SealedValue,
  next: string,
): Promise<void> {
  const column = escapeIdentifier(place.column)
  const value =
    place.field === undefined ? '$3' : `jsonb_set(${column}, array[${escapeLiteral(place.field)}], to_jsonb($3::text))`
  await pool.query(
    `update ${escapeIdentifier(place.table)} set ${column} = ${value} where ${keyOf(place)} = $1 and ${readOf(place)} = $2`,
    [key, sealed, next],
  )
}
