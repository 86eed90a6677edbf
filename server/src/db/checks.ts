import { sql } from 'drizzle-orm'
import { check, getTableConfig, type AnyPgColumn, type CheckBuilder, type PgTable } from 'drizzle-orm/pg-core'

/** The columns that drizzle passes to a table's extras lack `enumValues`, but their configuration has them. */
type ExtrasColumn = AnyPgColumn & { config: { enumValues?: readonly string[] } }

const quoted = (value: string) => `'${value.replaceAll("'", "''")}'`
/** Name of a column in the database; the same as of drizzle's `casing: 'snake_case'`. */
export const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The name of the CHECK of an enum column. */
export const checkName = (table: string, key: string): string => `${table}_${snakeCase(key)}_check`

/** A CHECK for every column declared as `text({ enum })`, so that Postgres enforces its type. */
export function enumChecks(table: string, columns: object): CheckBuilder[] {
  return Object.entries(columns as Record<string, ExtrasColumn>).flatMap(([key, column]) => {
    const values = column.config.enumValues ?? []
    if (values.length === 0) return []
    return check(checkName(table, key), sql`${column} in (${sql.raw(values.map(quoted).join(', '))})`)
  })
}

/** A CHECK that the table has at most one row, with the id 1. */
export const oneRowCheck = (table: string, id: AnyPgColumn): CheckBuilder => check(`${table}_one_row`, sql`${id} = 1`)

/** The enum columns of a table, with their values. */
export const enumColumns = (table: PgTable): { table: string; name: string; values: readonly string[] }[] =>
  getTableConfig(table).columns.flatMap((column) =>
    column.enumValues?.length
      ? { table: getTableConfig(table).name, name: snakeCase(column.name), values: column.enumValues }
      : [],
  )
