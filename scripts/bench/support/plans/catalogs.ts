/**
 * SQL statements that insert the databases and roles of all versions into the catalogs of Postgres, since creating 10,000 databases would
 * take an hour and 70 GB. Connections to such a database fail, as if the Postgres of the squid were down.
 */
export const catalogs = [
  `insert into installation (prefix) values ('bench')`,
  `do $$ declare name text; begin
     for name in select unnest(array[role, read_role]) from squid_databases
       union all select format('%s_l%s', d.role, l.id) from squid_logins l join squid_databases d using (squid_id)
     loop execute format('create role %I login', name); end loop;
   end $$`,
  `set allow_system_table_mods = on`,
  `do $$ declare columns text; begin
     select string_agg(quote_ident(attname), ', ') into columns from pg_attribute
     where attrelid = 'pg_database'::regclass and attnum > 0 and attname not in ('oid', 'datname', 'datallowconn');
     execute format('insert into pg_database (oid, datname, datallowconn, %s) select (1000000 + squid_id)::oid, database, false, %s
       from squid_databases, pg_database where datname = ''template0''', columns, columns);
   end $$`,
]
