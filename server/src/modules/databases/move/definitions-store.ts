import { escapeIdentifier, type Client } from 'pg'
import type { Definition, Definitions } from './definition.ts'

type Query = { kind: string; sql: string }
const inUserSchema = `n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`
const isNotOfExtension = (catalog: string, oid: string) =>
  `not exists (select from pg_depend e where e.classid = '${catalog}'::regclass and e.objid = ${oid} and e.deptype = 'e')`
const options = (of: string) =>
  `case when ${of} is null then '' else format(' with (%s)', array_to_string(${of}, ', ')) end`
const sequenceOptions = `format('increment by %s minvalue %s maxvalue %s start with %s cache %s%s',
  s.seqincrement, s.seqmin, s.seqmax, s.seqstart, s.seqcache, case when s.seqcycle then ' cycle' else '' end)`

const column = `format('%I %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
  (select format(' collate %I.%I', cn.nspname, co.collname) from pg_collation co join pg_namespace cn on cn.oid = co.collnamespace
   where co.oid = a.attcollation and co.oid <> ty.typcollation),
  case
    when a.attgenerated <> '' then format(' generated always as (%s) %s', pg_get_expr(d.adbin, d.adrelid),
      case a.attgenerated when 's' then 'stored' else 'virtual' end)
    when a.attidentity <> '' then format(' generated %s as identity (%s)',
      case a.attidentity when 'a' then 'always' else 'by default' end,
      (select format('sequence name %I.%I ', sn.nspname, sc.relname) || ${sequenceOptions}
       from pg_depend sd join pg_class sc on sc.oid = sd.objid join pg_namespace sn on sn.oid = sc.relnamespace
       join pg_sequence s on s.seqrelid = sc.oid
       where sd.classid = 'pg_class'::regclass and sd.refobjid = a.attrelid and sd.refobjsubid = a.attnum and sd.deptype = 'i'))
    when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid)
    else '' end,
  case when a.attnotnull then ' not null' else '' end)`

const columnsOf = (oid: string) => `(select string_agg(${column}, ', ' order by a.attnum)
  from pg_attribute a join pg_type ty on ty.oid = a.atttypid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = ${oid} and a.attnum > 0 and not a.attisdropped)`

const ofClass = (kinds: string) => `from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in (${kinds}) and ${inUserSchema} and ${isNotOfExtension('pg_class', 'c.oid')}`

const fullName = `format('%I.%I', n.nspname, c.relname)`
const domainName = `format('%I.%I', n.nspname, t.typname)`

const beforeRows: Query[] = [
  {
    kind: 'schema',
    sql: `select n.nspname as name, format('create schema if not exists %I', n.nspname) as sql from pg_namespace n
      where ${inUserSchema} and ${isNotOfExtension('pg_namespace', 'n.oid')}`,
  },
  {
    kind: 'extension',
    sql: `select e.extname as name,
      format('create extension if not exists %I with schema %I version %L', e.extname, n.nspname, e.extversion) as sql
      from pg_extension e join pg_namespace n on n.oid = e.extnamespace`,
  },
  {
    kind: 'type',
    sql: `select ${domainName} as name, format('create type %s as enum (%s)', ${domainName},
        (select string_agg(quote_literal(v.enumlabel), ', ' order by v.enumsortorder) from pg_enum v where v.enumtypid = t.oid)) as sql
      from pg_type t join pg_namespace n on n.oid = t.typnamespace
      where t.typtype = 'e' and ${inUserSchema} and ${isNotOfExtension('pg_type', 't.oid')}
      union all select ${fullName}, format('create type %s as (%s)', ${fullName}, ${columnsOf('c.oid')}) ${ofClass(`'c'`)}
      union all select ${domainName}, format('create domain %s as %s%s%s%s', ${domainName}, format_type(t.typbasetype, t.typtypmod),
        case when t.typdefault is null then '' else ' default ' || pg_get_expr(t.typdefaultbin, 0) end,
        case when t.typnotnull then ' not null' else '' end,
        (select string_agg(format(' constraint %I %s', k.conname, pg_get_constraintdef(k.oid)), '' order by k.conname)
         from pg_constraint k where k.contypid = t.oid and k.contype = 'c'))
      from pg_type t join pg_namespace n on n.oid = t.typnamespace
      where t.typtype = 'd' and ${inUserSchema} and ${isNotOfExtension('pg_type', 't.oid')}`,
  },
  {
    kind: 'sequence',
    sql: `select ${fullName} as name, format('create sequence %s as %s ', ${fullName}, format_type(s.seqtypid, null)) || ${sequenceOptions} as sql
      from pg_sequence s join pg_class c on c.oid = s.seqrelid join pg_namespace n on n.oid = c.relnamespace
      where ${inUserSchema} and ${isNotOfExtension('pg_class', 'c.oid')} and not exists (select from pg_depend i
        where i.classid = 'pg_class'::regclass and i.objid = c.oid and i.deptype = 'i')`,
  },
  {
    kind: 'function',
    sql: `select p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as sql
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where p.prokind in ('f', 'p', 'w') and ${inUserSchema} and ${isNotOfExtension('pg_proc', 'p.oid')}`,
  },
  {
    kind: 'table',
    sql: `select ${fullName} as name, format('create %stable %s (%s)%s', case c.relpersistence when 'u' then 'unlogged ' else '' end,
        ${fullName}, ${columnsOf('c.oid')}, ${options('c.reloptions')}) as sql ${ofClass(`'r'`)}`,
  },
  {
    kind: 'storage of a column',
    sql: `select format('%s.%I', ${fullName}, a.attname) as name,
        format('alter table %s alter column %I set storage %s', ${fullName}, a.attname,
          case a.attstorage when 'p' then 'plain' when 'e' then 'external' when 'm' then 'main' else 'extended' end) as sql
      from pg_attribute a join pg_type t on t.oid = a.atttypid and t.typstorage <> a.attstorage
      join (select c.* ${ofClass(`'r'`)}) c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where a.attnum > 0 and not a.attisdropped`,
  },
]

const constraintsOf = (kinds: string) => `select format('%s %I', ${fullName}, k.conname) as name,
  format('alter table %s add constraint %I %s', ${fullName}, k.conname, pg_get_constraintdef(k.oid)) as sql
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and k.contype in (${kinds}) and ${inUserSchema} and ${isNotOfExtension('pg_class', 'c.oid')}`

const indexesOf = (kind: string) => `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as sql
  from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = '${kind}' and ${inUserSchema} and ${isNotOfExtension('pg_class', 'c.oid')}
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))`

/** The definitions that can be applied even to a copy of only some of the rows. */
const keysAndIndexes: Query[] = [
  { kind: 'constraint', sql: constraintsOf(`'p', 'u', 'x', 'c'`) },
  { kind: 'index', sql: indexesOf('r') },
]

const afterRows: Query[] = [
  ...keysAndIndexes,
  { kind: 'foreign key', sql: constraintsOf(`'f'`) },
  {
    kind: 'owner of a sequence',
    sql: `select ${fullName} as name, format('alter sequence %s owned by %I.%I.%I', ${fullName}, tn.nspname, tc.relname, a.attname) as sql
      from pg_depend d join pg_class c on c.oid = d.objid and c.relkind = 'S' join pg_namespace n on n.oid = c.relnamespace
      join pg_class tc on tc.oid = d.refobjid join pg_namespace tn on tn.oid = tc.relnamespace
      join pg_attribute a on a.attrelid = tc.oid and a.attnum = d.refobjsubid
      where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype = 'a' and ${inUserSchema}`,
  },
  {
    kind: 'view',
    sql: `select ${fullName} as name, format('create view %s%s as %s', ${fullName}, ${options('c.reloptions')}, pg_get_viewdef(c.oid)) as sql
      ${ofClass(`'v'`)}`,
  },
  {
    kind: 'materialized view',
    sql: `select ${fullName} as name, format('create materialized view %s%s as %s with no data', ${fullName}, ${options('c.reloptions')},
        rtrim(pg_get_viewdef(c.oid), ';')) as sql ${ofClass(`'m'`)}`,
  },
  { kind: 'index of a materialized view', sql: indexesOf('m') },
  {
    kind: 'content of a materialized view',
    sql: `select ${fullName} as name, format('refresh materialized view %s', ${fullName}) as sql ${ofClass(`'m'`)} and c.relispopulated`,
  },
  {
    kind: 'statistics',
    sql: `select format('%I.%I', n.nspname, s.stxname) as name, pg_get_statisticsobjdef(s.oid) as sql
      from pg_statistic_ext s join pg_namespace n on n.oid = s.stxnamespace where ${inUserSchema}`,
  },
  {
    kind: 'trigger',
    sql: `select format('%s %I', ${fullName}, t.tgname) as name, pg_get_triggerdef(t.oid) || case t.tgenabled when 'O' then '' else
        format('; alter table %s %s trigger %I', ${fullName},
          case t.tgenabled when 'D' then 'disable' when 'A' then 'enable always' else 'enable replica' end, t.tgname) end as sql
      from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
      where not t.tgisinternal and ${inUserSchema}`,
  },
  {
    kind: 'replica identity',
    sql: `select ${fullName} as name, format('alter table %s replica identity %s', ${fullName}, case c.relreplident when 'f' then 'full' when 'n' then 'nothing'
        else (select format('using index %I', ic.relname) from pg_index i join pg_class ic on ic.oid = i.indexrelid
          where i.indrelid = c.oid and i.indisreplident) end) as sql ${ofClass(`'r'`)} and c.relreplident <> 'd'`,
  },
  {
    kind: 'comment',
    sql: `select format('%s %s', ${fullName}, d.objsubid) as name,
        case when d.objsubid = 0 then format('comment on %s %s is %L',
          case c.relkind when 'r' then 'table' when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' else 'index' end, ${fullName}, d.description)
        else format('comment on column %s.%I is %L', ${fullName}, a.attname, d.description) end as sql
      from pg_description d join pg_class c on c.oid = d.objoid and c.relkind in ('r', 'v', 'm', 'S', 'i')
      join pg_namespace n on n.oid = c.relnamespace left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.objsubid
      where d.classoid = 'pg_class'::regclass and ${inUserSchema} and ${isNotOfExtension('pg_class', 'c.oid')}
      union all select p.oid::regprocedure::text, format('comment on routine %s is %L', p.oid::regprocedure, d.description)
      from pg_description d join pg_proc p on p.oid = d.objoid join pg_namespace n on n.oid = p.pronamespace
      where d.classoid = 'pg_proc'::regclass and p.prokind <> 'a' and ${inUserSchema} and ${isNotOfExtension('pg_proc', 'p.oid')}`,
  },
]

/** SQL for statements that revoke all privileges that a new object has by default, and grant those of the original object. */
const grants = (
  on: string,
  acl: string,
  defaultKind: string,
  owner: string,
) => `format('revoke all on %s from public, %s', ${on}, $1::text)
  || coalesce((select string_agg(format('; grant %s on %s to %s%s', x.privilege_type, ${on},
       case x.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(x.grantee)) end,
       case when x.is_grantable then ' with grant option' else '' end), '' order by x.grantee::regrole::text, x.privilege_type)
     from aclexplode(coalesce(${acl}, acldefault('${defaultKind}', ${owner}))) x where x.grantee <> ${owner}), '')`

/** `$1`: the quoted name of the role that may only read. */
const access: Query[] = [
  {
    kind: 'access to a schema',
    sql: `select n.nspname as name, ${grants(`'schema ' || quote_ident(n.nspname)`, 'n.nspacl', 'n', 'n.nspowner')} as sql
      from pg_namespace n where ${inUserSchema} and ${isNotOfExtension('pg_namespace', 'n.oid')}`,
  },
  {
    kind: 'access to a table',
    sql: `select ${fullName} as name, ${grants(`'table ' || ${fullName}`, 'c.relacl', 'r', 'c.relowner')} as sql ${ofClass(`'r', 'v', 'm'`)}
      union all select ${fullName}, ${grants(`'sequence ' || ${fullName}`, 'c.relacl', 's', 'c.relowner')} ${ofClass(`'S'`)}`,
  },
  {
    kind: 'access to a function',
    sql: `select p.oid::regprocedure::text as name, ${grants(`'routine ' || p.oid::regprocedure::text`, 'p.proacl', 'f', 'p.proowner')} as sql
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where p.prokind <> 'a' and ${inUserSchema} and ${isNotOfExtension('pg_proc', 'p.oid')}`,
  },
  {
    kind: 'setting of the database',
    sql: `select split_part(entry, '=', 1) as name, format('alter database %I set %I = %s', current_database(), split_part(entry, '=', 1),
        case when split_part(entry, '=', 1) ~ '(search_path|_libraries|_tablespaces)$' then substr(entry, strpos(entry, '=') + 1)
        else quote_literal(substr(entry, strpos(entry, '=') + 1)) end) as sql
      from pg_db_role_setting g join pg_database b on b.oid = g.setdatabase and b.datname = current_database(), unnest(g.setconfig) entry
      where g.setrole = 0 and $1::text is not null`,
  },
]

async function runQueries(client: Client, queries: Query[], values: unknown[] = []): Promise<Definition[]> {
  const found: Definition[] = []
  for (const { kind, sql } of queries) {
    const { rows } = await client.query<Omit<Definition, 'kind'>>(`select * from (${sql}) found order by name`, values)
    found.push(...rows.map((row) => ({ kind, ...row })))
  }
  return found
}

/** Reads statements that set the last values of all sequences, including those of identity columns. */
async function sequenceValues(client: Client): Promise<Definition[]> {
  const { rows } = await client.query<{ name: string }>(`select ${fullName} as name ${ofClass(`'S'`)} order by 1`)
  const values: Definition[] = []
  for (const { name } of rows) {
    const { rows: found } = await client.query<{ sql: string }>(
      `select format('select pg_catalog.setval(%L, %s, %L)', $1::text, last_value, is_called) as sql from ${name}`,
      [name],
    )
    values.push(...found.map(({ sql }) => ({ kind: 'value of a sequence', name, sql })))
  }
  return values
}

/** Reads the definitions of everything that a copy has. `readRole`: the role that may only read. */
export async function readDefinitions(client: Client, readRole: string): Promise<Definitions> {
  return {
    beforeRows: await runQueries(client, beforeRows),
    afterRows: [...(await runQueries(client, afterRows)), ...(await sequenceValues(client))],
    access: await runQueries(client, access, [escapeIdentifier(readRole)]),
  }
}

/** Reads the definitions that can be applied to a copy of only some of the rows. */
export async function readSampleDefinitions(client: Client): Promise<Definitions> {
  return {
    beforeRows: await runQueries(client, beforeRows),
    afterRows: await runQueries(client, keysAndIndexes),
    access: [],
  }
}
