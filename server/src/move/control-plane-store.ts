// Reads the catalogs of Postgres instead of the declarations of tables, because a copy contains every row of every table, of all modules.

import { escapeIdentifier, escapeLiteral, type Client } from 'pg'
import { copyTable, sumTable, type CopiedTable } from '../db/copy-rows.ts'

/** Tables about the processes and hosts of the source, and the mark of the move, which the target has itself. */
const notCopied = [
  'public.installation_move',
  'public.gateway_routes',
  'public.gateways',
  'public.replicas',
  'public.runtime_claim',
  'public.shoal_migrations',
]
/** The tables of pg-boss with the queues, schedules and jobs. Its other tables have its version and statistics. */
const jobTables = [
  'pgboss.queue',
  'pgboss.schedule',
  'pgboss.subscription',
  'pgboss.job_common',
  'pgboss.job_dependency',
]

/** A table of the control plane. `parent` and `bound`: what a partition belongs to. */
type Table = CopiedTable & { parent: string | null; bound: string | null }

/** Returns the tables whose rows are copied, with their partitions instead of partitioned tables. */
export async function listControlPlaneTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `select format('%I.%I', n.nspname, c.relname) as name, pg_table_size(c.oid)::float8 as bytes, c.reltuples::float8 as rows,
       array(select quote_ident(a.attname) from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as stored,
       (select format('%I.%I', pn.nspname, p.relname) from pg_inherits i join pg_class p on p.oid = i.inhparent
         join pg_namespace pn on pn.oid = p.relnamespace where i.inhrelid = c.oid) as parent,
       pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and (n.nspname = 'public' or format('%I.%I', n.nspname, c.relname) = any($2))
       and format('%I.%I', n.nspname, c.relname) <> all($1)
       and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
     order by pg_table_size(c.oid) desc, 1`,
    [notCopied, jobTables],
  )
  return rows
}

/** Whether the database has tables, and how many users and organizations; one, if other programs created the tables. */
export async function readContents(client: Client): Promise<{ hasTables: boolean; rows: number }> {
  const { rows: found } = await client.query<{ name: string | null; tables: number }>(
    `select to_regclass('public.shoal_migrations')::text as name, (select count(*)::int from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and n.nspname in ('public', 'pgboss')) as tables`,
  )
  const hasTables = (found[0]?.tables ?? 0) > 0
  if (!found[0]?.name) return { hasTables, rows: hasTables ? 1 : 0 }
  const { rows } = await client.query<{ rows: number }>(
    'select ((select count(*) from public.users) + (select count(*) from public.orgs))::int as rows',
  )
  return { hasTables, rows: rows[0]?.rows ?? 0 }
}

/** Returns the names of the tables, without partitions. */
export async function listTableNames(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and not c.relispartition and n.nspname = 'public'`,
  )
  return rows.map(({ name }) => name)
}

/** Drops these tables with their functions, and the queues, from a database with an earlier copy of the installation. */
export async function dropContents(client: Client, tables: string[]): Promise<void> {
  await client.query('begin')
  await client.query('drop schema if exists pgboss cascade')
  const { rows } = await client.query<{ sql: string }>(
    `select format('drop table if exists %I.%I cascade', n.nspname, c.relname) as sql from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and not c.relispartition and n.nspname = 'public' and c.relname = any($1)
     union all select format('drop function if exists %s cascade', p.oid::regprocedure) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = 'public' and exists (select from pg_trigger t join pg_class c on c.oid = t.tgrelid
       where t.tgfoid = p.oid and not t.tgisinternal and c.relname = any($1))`,
    [tables],
  )
  for (const { sql } of rows) await client.query(sql)
  await client.query('commit')
}

/** Locks all tables against writes until the transaction that it begins ends, and returns them. Programs can read them. */
export async function lockTables(client: Client): Promise<Table[]> {
  await client.query(`set lock_timeout = '30s'`)
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and n.nspname in ('public', 'pgboss')`,
  )
  await client.query('begin isolation level repeatable read')
  // The snapshot is taken only by the statement after this one, when all earlier writes have ended.
  await client.query(`lock table ${rows.map(({ name }) => `only ${name}`).join(', ')} in share mode`)
  return await listControlPlaneTables(client)
}

/** Returns the names of the queues; none if no server has started on this database, since the first one creates the table of queues. */
export async function listQueues(client: Client): Promise<string[]> {
  const { rows: found } = await client.query<{ name: string | null }>(
    `select to_regclass('pgboss.queue')::text as name`,
  )
  if (!found[0]?.name) return []
  const { rows } = await client.query<{ name: string }>('select name from pgboss.queue order by 1')
  return rows.map(({ name }) => name)
}

const partitionName = /_\d{8}"?$/

/**
 * Copies all rows and the values of all sequences into a database with the same migrations, in the open transaction of `to`, and compares both.
 * @throws Error that names the first table that the copy lacks, or whose rows differ
 */
export async function copyTableRows(
  from: Client,
  to: Client,
  tables: Table[],
  onBytes: (bytes: number) => void,
): Promise<{ tables: number; rows: number }> {
  const present = new Set((await listControlPlaneTables(to)).map(({ name }) => name))
  const copied: Table[] = []
  for (const table of tables) {
    if (!present.has(table.name)) {
      // A detached partition is about to be dropped.
      if (table.parent === null && partitionName.test(table.name)) continue
      if (table.parent === null)
        throw new Error(`The target has no table ${table.name}: both must have the same release of Shoal`)
      await to.query(`create table ${table.name} (like ${table.parent} including all)`)
      await to.query(`alter table ${table.parent} attach partition ${table.name} ${table.bound}`)
    }
    copied.push(table)
  }
  const triggers = await listTriggers(to)
  for (const table of triggers) await to.query(`alter table ${table} disable trigger user`)
  const keys = await listForeignKeys(to)
  for (const { table, name } of keys) await to.query(`alter table ${table} drop constraint ${name}`)
  // Migrations may have inserted rows.
  for (const { name } of copied) await to.query(`delete from only ${name}`)
  for (const table of copied) await copyTable(from, to, table, { limit: null, onBytes })
  for (const { table, name, definition } of keys)
    await to.query(`alter table ${table} add constraint ${name} ${definition}`)
  for (const table of triggers) await to.query(`alter table ${table} enable trigger user`)
  for (const { name, value } of await readSequences(from))
    await to.query(`select setval(${escapeLiteral(name)}, ${value})`)
  return { tables: copied.length, rows: await compareRows(from, to, copied) }
}

/** Compares all rows of the tables and the values of all sequences, and returns the number of rows. @throws Error that names the first difference */
export async function compareRows(from: Client, to: Client, tables: Table[]): Promise<number> {
  let rows = 0
  for (const { name, stored } of tables) {
    // Migrations of development releases may have created the columns in another order.
    const [one, other] = await Promise.all([sumTable(from, name, stored), sumTable(to, name, stored)])
    if (one.rows !== other.rows || one.sum !== other.sum)
      throw new Error(`The rows of ${name} differ: ${one.rows} in the source, ${other.rows} in the copy`)
    rows += Number(one.rows)
  }
  const [one, other] = [await readSequences(from), await readSequences(to)]
  const different = one.find(({ name, value }) => other.find((sequence) => sequence.name === name)?.value !== value)
  if (different) throw new Error(`The value of the sequence ${different.name} differs`)
  return rows
}

async function listTriggers(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select distinct format('%I.%I', n.nspname, c.relname) as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
     join pg_namespace n on n.oid = c.relnamespace where not t.tgisinternal and t.tgparentid = 0 and n.nspname = 'public'`,
  )
  return rows.map(({ name }) => name)
}

async function listForeignKeys(client: Client): Promise<{ table: string; name: string; definition: string }[]> {
  const { rows } = await client.query<{ table: string; name: string; definition: string }>(
    `select format('%I.%I', n.nspname, c.relname) as table, quote_ident(k.conname) as name, pg_get_constraintdef(k.oid) as definition
     from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
     where k.contype = 'f' and k.conparentid = 0 and n.nspname in ('public', 'pgboss') order by 1, 2`,
  )
  return rows
}

/** Returns the sequences with the last two arguments of `setval`. */
async function readSequences(client: Client): Promise<{ name: string; value: string }[]> {
  const { rows } = await client.query<{ name: string; schema: string; sequence: string }>(
    `select format('%I.%I', schemaname, sequencename) as name, schemaname as schema, sequencename as sequence
     from pg_sequences where schemaname = 'public' order by 1`,
  )
  const sequences: { name: string; value: string }[] = []
  for (const { name, schema, sequence } of rows) {
    const { rows: found } = await client.query<{ value: string }>(
      `select format('%s, %L', last_value, is_called) as value from ${escapeIdentifier(schema)}.${escapeIdentifier(sequence)}`,
    )
    sequences.push({ name, value: found[0]?.value ?? '' })
  }
  return sequences
}
