import { escapeIdentifier, type ClientBase } from 'pg'

const maxRows = 5

type Constraint = { table: string; name: string; expression: string; key: string[]; columns: string[] }

/**
 * Validates every CHECK that a migration added as NOT VALID. Returns a line for each violated CHECK, with the primary keys and the
 * checked columns of the violating rows.
 */
export async function findViolations(client: ClientBase): Promise<string[]> {
  const violations: string[] = []
  for (const constraint of await selectUnvalidated(client)) {
    const { table, name } = constraint
    const rows = await selectViolatingRows(client, constraint)
    if (rows.length > 0)
      violations.push(
        `- ${name} of ${table}: ${rows.slice(0, maxRows).join('; ')}${rows.length > maxRows ? '; and more' : ''}`,
      )
    else await client.query(`alter table ${escapeIdentifier(table)} validate constraint ${escapeIdentifier(name)}`)
  }
  return violations
}

async function selectUnvalidated(client: ClientBase): Promise<Constraint[]> {
  const { rows } = await client.query<Constraint>(`
    select r.relname as table, c.conname as name, pg_get_expr(c.conbin, c.conrelid) as expression,
      array(select a.attname::text from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
        where i.indrelid = c.conrelid and i.indisprimary) as key,
      array(select a.attname::text from pg_attribute a where a.attrelid = c.conrelid and a.attnum = any(c.conkey)) as columns
    from pg_constraint c join pg_class r on r.oid = c.conrelid
    where c.contype = 'c' and not c.convalidated and r.relnamespace = current_schema()::regnamespace
    order by r.relname, c.conname`)
  return rows
}

async function selectViolatingRows(
  client: ClientBase,
  { table, expression, key, columns }: Constraint,
): Promise<string[]> {
  const selectedColumns = [...new Set([...key, ...columns])].map((column) => escapeIdentifier(column)).join(', ')
  const { rows } = await client.query<Record<string, unknown>>(
    `select ${selectedColumns} from ${escapeIdentifier(table)} where not (${expression}) limit ${maxRows + 1}`,
  )
  return rows.map((row) =>
    Object.entries(row)
      .map(([column, value]) => `${column} ${JSON.stringify(value)}`)
      .join(', '),
  )
}
