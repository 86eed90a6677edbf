import { escapeIdentifier, escapeLiteral } from 'pg'
import type { Database } from '../db/database.ts'

/** A column of sealed values. */
export type SealedColumn = {
  table: string
  key: string[]
  column: string
  /** The field of the value, if the column is JSON. */
  field?: string
  /** The sealing context that ties a value to the row with this key. */
  contextOf: (key: string[]) => string
}

export type SealedValue = { key: string[]; sealed: string }

const readOf = ({ column, field }: SealedColumn) =>
  field === undefined ? escapeIdentifier(column) : `${escapeIdentifier(column)} ->> ${escapeLiteral(field)}`
const keyOf = ({ key }: SealedColumn) => `array[${key.map((k) => `${escapeIdentifier(k)}::text`).join(', ')}]`

/** Up to `limit` values of the column that do not start with `prefix`. */
export async function listSealedWithOldKeys(
  { pool }: Database,
  column: SealedColumn,
  prefix: string,
  limit: number,
): Promise<SealedValue[]> {
  const { rows } = await pool.query<SealedValue>(
    `select ${keyOf(column)} as key, ${readOf(column)} as sealed from ${escapeIdentifier(column.table)}
     where not starts_with(${readOf(column)}, $1) limit $2`,
    [prefix, limit],
  )
  return rows
}

/** Replaces a sealed value, unless another process has changed it in the meantime. */
export async function replaceSealed(
  { pool }: Database,
  column: SealedColumn,
  { key, sealed }: SealedValue,
  next: string,
): Promise<void> {
  const name = escapeIdentifier(column.column)
  const value =
    column.field === undefined ? '$3' : `jsonb_set(${name}, array[${escapeLiteral(column.field)}], to_jsonb($3::text))`
  await pool.query(
    `update ${escapeIdentifier(column.table)} set ${name} = ${value} where ${keyOf(column)} = $1 and ${readOf(column)} = $2`,
    [key, sealed, next],
  )
}
