import type { Client } from 'pg'

const inUserSchema = `n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`
const isNotOfExtension = (catalog: string, oid: string) =>
  `not exists (select from pg_depend e where e.classid = '${catalog}'::regclass and e.objid = ${oid} and e.deptype = 'e')`
const inSchemas = (kind: string, catalog: string, column: string, where = 'true') =>
  `select '${kind} ' || format('%I.%I', n.nspname, o.${column}name) from ${catalog} o join pg_namespace n on n.oid = o.${column}namespace
   where ${inUserSchema} and ${isNotOfExtension(catalog, 'o.oid')} and ${where}`
/** Objects that do not belong to a schema and that Postgres did not create itself. */
const outsideSchemas = (kind: string, catalog: string, name: string) =>
  `select '${kind} ' || ${name} from ${catalog} o where o.oid >= 16384 and ${isNotOfExtension(catalog, 'o.oid')}`
const relation = (where: string) =>
  `from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${inUserSchema} and ${isNotOfExtension('pg_class', 'c.oid')} and ${where}`

/** `$1`: the owner of the database; `$2`: the role that may only read it. */
const unsupported = [
  `select case c.relkind when 'p' then 'partitioned table ' when 'f' then 'foreign table ' else 'index of a partitioned table ' end || c.oid::regclass
   ${relation(`c.relkind in ('p', 'f', 'I')`)}`,
  `select 'table with a parent ' || c.oid::regclass ${relation(`exists (select from pg_inherits i where i.inhrelid = c.oid)`)}`,
  `select 'table of a type ' || c.oid::regclass ${relation('c.reloftype <> 0')}`,
  `select 'table with row-level security ' || c.oid::regclass ${relation('c.relrowsecurity')}`,
  `select 'privileges for columns of ' || c.oid::regclass
   ${relation('exists (select from pg_attribute a where a.attrelid = c.oid and a.attacl is not null)')}`,
  `select 'rule ' || w.rulename || ' of ' || c.oid::regclass from pg_rewrite w join pg_class c on c.oid = w.ev_class
   join pg_namespace n on n.oid = c.relnamespace where w.rulename <> '_RETURN' and ${inUserSchema}`,
  inSchemas('type', 'pg_type', 'typ', `(o.typtype in ('r', 'm') or o.typtype = 'b' and o.typelem = 0)`),
  inSchemas('privileges for the type', 'pg_type', 'typ', 'o.typacl is not null'),
  inSchemas('aggregate', 'pg_proc', 'pro', `o.prokind = 'a'`),
  inSchemas('operator', 'pg_operator', 'opr'),
  inSchemas('operator class', 'pg_opclass', 'opc'),
  inSchemas('operator family', 'pg_opfamily', 'opf'),
  inSchemas('conversion', 'pg_conversion', 'con'),
  inSchemas('collation', 'pg_collation', 'coll'),
  inSchemas('text search configuration', 'pg_ts_config', 'cfg'),
  inSchemas('text search dictionary', 'pg_ts_dict', 'dict'),
  outsideSchemas('cast', 'pg_cast', `format('(%s as %s)', o.castsource::regtype, o.casttarget::regtype)`),
  outsideSchemas('language', 'pg_language', 'o.lanname'),
  outsideSchemas('event trigger', 'pg_event_trigger', 'o.evtname'),
  outsideSchemas('publication', 'pg_publication', 'o.pubname'),
  outsideSchemas('foreign server', 'pg_foreign_server', 'o.srvname'),
  outsideSchemas('foreign data wrapper', 'pg_foreign_data_wrapper', 'o.fdwname'),
  `select 'large object ' || o.oid from pg_largeobject_metadata o`,
  `select 'rows of the extension ' || o.extname from pg_extension o where o.extconfig is not null`,
  `select 'default privileges for ' || coalesce('the schema ' || n.nspname, 'the role ' || pg_get_userbyid(o.defaclrole))
   from pg_default_acl o left join pg_namespace n on n.oid = o.defaclnamespace
   where o.defaclnamespace <> 0 or pg_get_userbyid(o.defaclrole) <> $1`,
  `select distinct case s.deptype when 'o' then 'objects of the role ' else 'privileges of the role ' end || pg_get_userbyid(s.refobjid)
   from pg_shdepend s join pg_database d on d.oid = s.dbid and d.datname = current_database()
   where s.refclassid = 'pg_authid'::regclass and s.deptype in ('o', 'a') and pg_get_userbyid(s.refobjid) <> all(array[$1, $2]::text[])`,
]

/** Lists the objects of the database that a copy would not have, such as `large object 16405`; at most 1,000. */
export async function listUnsupported(client: Client, owner: string, readRole: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `with found (name) as (${unsupported.join('\nunion all ')})
     select name from found where $1::text is not null and $2::text is not null order by 1 limit 1000`,
    [owner, readRole],
  )
  return rows.map(({ name }) => name)
}

type Extension = { name: string; version: string }

/** Lists the extensions of the database by name. */
export async function listExtensions(client: Client): Promise<Extension[]> {
  const { rows } = await client.query<Extension>(
    'select extname as name, extversion as version from pg_extension order by 1',
  )
  return rows
}

/** Returns those of the extensions that the server does not have in the same version. */
export async function missingExtensions(client: Pick<Client, 'query'>, needed: Extension[]): Promise<Extension[]> {
  const { rows } = await client.query<Extension>('select name, version from pg_available_extension_versions')
  const available = new Set(rows.map(({ name, version }) => `${name} ${version}`))
  return needed.filter(({ name, version }) => !available.has(`${name} ${version}`))
}
