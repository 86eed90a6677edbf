import { DatabaseError, type Client } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { Database } from '../../../db/database.ts'
import { connectToTenant } from '../tenant-client-store.ts'

/** A connection with a snapshot of one database, as a role of the tenant. */
export type ExportConnection = Client

/**
 * The maximum number of columns in all tables of an exported database, and the maximum size of the definitions; both are read
 * into memory.
 */
const maxColumns = 200_000
const maxDefinitionBytes = 64 * 2 ** 20

/** Why an export cannot begin. */
export type ExportProblem = 'running' | 'too many tables' | 'no connection'
type Opened = { connection: ExportConnection } | { problem: ExportProblem }

/**
 * Opens a connection as a role of the tenant, with a snapshot of the database. Shoal's own role must not read tables of tenants,
 * not even after `set role`, because their policies can call functions of the tenant, which could reset the role. Returns the problem
 * instead if another export is running, the database is too large, or Postgres rejects the login.
 */
export async function openExport(
  cluster: Database,
  { database, role, password }: { database: string; role: string; password: string },
): Promise<Opened> {
  let connection: Client
  try {
    connection = await connectToTenant(cluster, {
      database,
      as: { role, password },
      applicationName: 'shoal export',
    })
  } catch (error) {
    if (error instanceof DatabaseError && rejections.has(error.code ?? '')) return { problem: 'no connection' }
    throw error
  }
  try {
    const { rows } = await connection.query<{ isFree: boolean }>(
      `select pg_try_advisory_lock(hashtextextended('shoal:export', 0)) as "isFree"`,
    )
    const problem = rows[0]?.isFree ? await beginSnapshot(connection) : 'running'
    if (problem === null) return { connection }
    await connection.end()
    return { problem }
  } catch (error) {
    await connection.end()
    throw error
  }
}

/** Error codes with which Postgres rejects a login: the role has too many connections, has another password, or may not log in. */
const rejections = new Set(['53300', '28P01', '28000'])

async function beginSnapshot(connection: Client): Promise<'too many tables' | null> {
  await connection.query('begin isolation level repeatable read read only')
  // With an empty search path Postgres prints names with their schemas.
  await connection.query(`set local search_path to ''`)
  const { rows } = await connection.query<{ isTooLarge: boolean }>(
    `select (select count(*) from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relkind = 'r' and a.attnum > 0) > $1
       or (select coalesce(sum(octet_length(d.adbin::text)), 0) from pg_attrdef d)
        + (select coalesce(sum(octet_length(k.conbin::text)), 0) from pg_constraint k)
        + (select coalesce(sum(octet_length(i.indexprs::text) + octet_length(i.indpred::text)), 0) from pg_index i)
        + (select coalesce(sum(octet_length(e.enumlabel::text)), 0) from pg_enum e) > $2 as "isTooLarge"`,
    [maxColumns, maxDefinitionBytes],
  )
  return rows[0]?.isTooLarge ? 'too many tables' : null
}

/** Closes the connection, even during a query. This releases its snapshot and its lock. */
export async function closeExport(connection: ExportConnection): Promise<void> {
  await connection.end().catch(() => undefined)
}

/** Yields rows in the format of `copy … from stdin`. `target` is `table (columns)`. */
export async function* copyRows(connection: ExportConnection, target: string): AsyncGenerator<Buffer> {
  for await (const chunk of connection.query(copyTo(`copy ${target} to stdout`))) yield chunk as Buffer
}

/** The definition of a table in the script of an export. */
export type TableShape = {
  /** The quoted name, with its schema. */
  name: string
  /** Column definitions of `create table`. */
  columns: string[]
  /** Quoted names of the columns that are not generated. */
  stored: string[]
}

const inUserSchema = `n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast') and n.nspname not like 'pg_temp%'`
const fullName = (oid: string) => `(select format('%I.%I', n.nspname, c.relname)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = ${oid})`

/** Runs a query and returns the column `text` of every row. */
async function selectTexts(connection: ExportConnection, sql: string): Promise<string[]> {
  const { rows } = await connection.query<{ text: string }>(sql)
  return rows.map((row) => row.text)
}

/** Returns statements for schemas, enumerations and sequences, which columns may refer to. */
export async function statementsBeforeRows(connection: ExportConnection): Promise<string[]> {
  return [
    ...(await selectTexts(
      connection,
      `select format('create schema if not exists %I;', n.nspname) as text from pg_namespace n where ${inUserSchema} order by 1`,
    )),
    ...(await selectTexts(
      connection,
      `select format('create type %I.%I as enum (%s);', n.nspname, t.typname,
         (select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid)) as text
       from pg_type t join pg_namespace n on n.oid = t.typnamespace where t.typtype = 'e' and ${inUserSchema} order by 1`,
    )),
    // Omits sequences of identity columns, which Postgres creates with the column.
    ...(await selectTexts(
      connection,
      `select format('create sequence %I.%I;', n.nspname, c.relname) as text
       from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'S' and ${inUserSchema}
         and not exists (select from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype = 'i')
       order by 1`,
    )),
  ]
}

/** Lists tables by name. Each partition of a partitioned table is listed as a separate table. */
export async function listTables(connection: ExportConnection): Promise<TableShape[]> {
  const { rows } = await connection.query<TableShape>(
    `select format('%I.%I', n.nspname, c.relname) as name,
       array(select format('%I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
           case
             when a.attgenerated <> '' then format(' generated always as (%s) stored', pg_get_expr(d.adbin, d.adrelid))
             when a.attidentity = 'a' then ' generated always as identity'
             when a.attidentity = 'd' then ' generated by default as identity'
             when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid)
             else '' end,
           case when a.attnotnull then ' not null' else '' end)
         from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
       array(select format('%I', a.attname) from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as stored
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and ${inUserSchema} order by 1`,
  )
  return rows
}

/** Returns statements to run after the rows are loaded: values of sequences, constraints (foreign keys last), and indexes. */
export async function statementsAfterRows(connection: ExportConnection): Promise<string[]> {
  return [
    ...(await selectTexts(
      connection,
      `select format('select pg_catalog.setval(%L, %s);', format('%I.%I', s.schemaname, s.sequencename), s.last_value) as text
       from pg_sequences s where s.last_value is not null order by 1`,
    )),
    ...(await selectTexts(
      connection,
      `select format('alter table %s add constraint %I %s;', ${fullName('k.conrelid')}, k.conname, pg_get_constraintdef(k.oid)) as text
       from pg_constraint k join pg_namespace n on n.oid = k.connamespace join pg_class t on t.oid = k.conrelid
       where t.relkind = 'r' and k.contype in ('p', 'u', 'x', 'c', 'f') and ${inUserSchema}
       order by array_position(array['p', 'u', 'x', 'c', 'f'], k.contype::text), 1`,
    )),
    ...(await selectTexts(
      connection,
      `select pg_get_indexdef(i.indexrelid) || ';' as text
       from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
       where c.relkind = 'r' and ${inUserSchema} and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
       order by 1`,
    )),
  ]
}
