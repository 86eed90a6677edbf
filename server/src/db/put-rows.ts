import { inBatches } from './batches.ts'
import type { Db } from './database.ts'
import { snakeCase } from './checks.ts'
import type { PgTable } from './columns.ts'
import { getTableName, sql, type SQL } from './sql.ts'

/** Postgres rejects JSON with half of a surrogate pair, which text can have after it was cut. */
const storable = (value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value)

/**
 * Inserts rows that all have the same columns. Rows whose `key` exists are changed: they get the values of `set`, by default all columns.
 * The rows of a statement are one parameter, so that building it costs the same for a thousand rows as for one. More rows need several
 * statements, so call this in a transaction.
 */
export async function putRows<T extends PgTable>(
  db: Db,
  table: T,
  rows: readonly T['$inferInsert'][],
  key: (keyof T['$inferInsert'] & string)[],
  set?: SQL,
): Promise<void> {
  const [first] = rows
  if (!first) return
  const columns = Object.keys(first)
  const list = (properties: string[]) =>
    sql.join(
      properties.map((property) => sql.identifier(snakeCase(property))),
      sql`, `,
    )
  const values = columns
    .filter((column) => !(key as string[]).includes(column))
    .map((column) => sql`${sql.identifier(snakeCase(column))} = excluded.${sql.identifier(snakeCase(column))}`)
  const names = columns.map((column) => [snakeCase(column), column] as const)
  const toRecord = (row: Record<string, unknown>) =>
    Object.fromEntries(names.map(([name, column]) => [name, storable(row[column])]))
  const tableName = sql.identifier(getTableName(table))
  for (const batch of inBatches(rows))
    await db.execute(sql`
      insert into ${tableName} (${list(columns)})
      select ${list(columns)} from jsonb_populate_recordset(null::${tableName}, ${JSON.stringify(batch.map(toRecord))}::jsonb)
      on conflict (${list(key)}) do update set ${set ?? sql.join(values, sql`, `)}`)
}
