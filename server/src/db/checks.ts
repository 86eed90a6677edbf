import { sql } from 'drizzle-orm'
import { check, getTableConfig, type AnyPgColumn, type CheckBuilder, type PgTable } from 'drizzle-orm/pg-core'

/** What drizzle passes to a table's extras lacks `enumValues`; its configuration has them. */
type ExtrasColumn = AnyPgColumn & { config: { enumValues?: readonly string[] } }

const quoted = (value: string) => `'${value.replaceAll("'", "''")}'`
const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Name of the CHECK of a column that holds one of several words. */
export const checkName = (table: string, key: string): string => `${table}_${snakeCase(key)}_check`

/** A CHECK for every column declared as `text({ enum })`, so that Postgres holds what its type promises. */
export function enumChecks(table: string, columns: object): CheckBuilder[] {
  return Object.entries(columns as Record<string, ExtrasColumn>).flatMap(([key, column]) => {
    const values = column.config.enumValues ?? []
    if (values.length === 0) return []
    return check(checkName(table, key), sql`${column} in (${sql.raw(values.map(quoted).join(', '))})`)
  })
}

/** A CHECK that a table has no row but the one with id 1. */
export const oneRowCheck = (table: string, id: AnyPgColumn): CheckBuilder => check(`${table}_one_row`, sql`${id} = 1`)

/** The columns of a table that hold one of several words, with these words. */
export const enumColumns = (table: PgTable): { table: string; name: string; values: readonly string[] }[] =>
  getTableConfig(table).columns.flatMap((column) =>
    column.enumValues?.length
      ? { table: getTableConfig(table).name, name: snakeCase(column.name), values: column.enumValues }
      : [],
  )
