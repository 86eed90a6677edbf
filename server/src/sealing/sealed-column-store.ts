import { escapeIdentifier, escapeLiteral } from 'pg'
import type { Database } from '../db/database.ts'

/** A column of sealed values. */
export type SealedColumn = {
  table: string
  key: string[]
  column: string
  /** The JSON field that contains the value, if the column is JSON. */
  field?: string
  /** The sealing context that binds a value to the row with this key. */
  contextOf: (key: string[]) => string
}

export type SealedValue = { key: string[]; sealed: string }

const valueSql = ({ column, field }: SealedColumn) =>
  field === undefined ? escapeIdentifier(column) : `${escapeIdentifier(column)} ->> ${escapeLiteral(field)}`
const keySql = ({ key }: SealedColumn) => `array[${key.map((k) => `${escapeIdentifier(k)}::text`).join(', ')}]`

/** Returns up to `limit` values of the column that do not start with `prefix`. */
export async function listSealedWithOldKeys(
  { pool }: Database,
  column: SealedColumn,
  prefix: string,
  limit: number,
): Promise<SealedValue[]> {
  const { rows } = await pool.query<SealedValue>(
    `select ${keySql(column)} as key, ${valueSql(column)} as sealed from ${escapeIdentifier(column.table)}
     where not starts_with(${valueSql(column)}, $1) limit $2`,
    [prefix, limit],
  )
  return rows
}

/** Replaces a sealed value, unless another process has changed it in the meantime. */
export async function replaceSealed(
  { pool }: Database,
  column: SealedColumn,
  { key, sealed }: SealedValue,
  resealed: string,
): Promise<void> {
  const name = escapeIdentifier(column.column)
  const value =
    column.field === undefined ? '$3' : `jsonb_set(${name}, array[${escapeLiteral(column.field)}], to_jsonb($3::text))`
  await pool.query(
    `update ${escapeIdentifier(column.table)} set ${name} = ${value} where ${keySql(column)} = $1 and ${valueSql(column)} = $2`,
    [key, sealed, resealed],
  )
}
