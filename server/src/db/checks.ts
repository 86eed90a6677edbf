import { sql } from './sql.ts'
import { check, getTableConfig, type AnyPgColumn, type CheckBuilder, type PgTable } from './columns.ts'

/** The columns that drizzle passes to a table's extras lack `enumValues`, but their configuration has them. */
type ExtrasColumn = AnyPgColumn & { config: { enumValues?: readonly string[] } }

const quote = (value: string) => `'${value.replaceAll("'", "''")}'`
/** Returns the name of a column in the database, as drizzle's `casing: 'snake_case'` does. */
export const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Returns the name of the CHECK of an enum column. */
export const checkName = (table: string, key: string): string => `${table}_${snakeCase(key)}_check`

/** Returns a CHECK for every column declared as `text({ enum })`, so that Postgres enforces the type of the column. */
export function enumChecks(table: string, columns: object): CheckBuilder[] {
  return Object.entries(columns as Record<string, ExtrasColumn>).flatMap(([key, column]) => {
    const values = column.config.enumValues ?? []
    if (values.length === 0) return []
    return check(checkName(table, key), sql`${column} in (${sql.raw(values.map(quote).join(', '))})`)
  })
}

/** Returns a CHECK that the table has at most one row, with the id 1. */
export const oneRowCheck = (table: string, id: AnyPgColumn): CheckBuilder => check(`${table}_one_row`, sql`${id} = 1`)

/** Returns the enum columns of a table, with their values. */
export const enumColumns = (table: PgTable): { table: string; name: string; values: readonly string[] }[] =>
  getTableConfig(table).columns.flatMap((column) =>
    column.enumValues?.length
      ? { table: getTableConfig(table).name, name: snakeCase(column.name), values: column.enumValues }
      : [],
  )
