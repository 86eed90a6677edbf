import { escapeIdentifier, escapeLiteral } from 'pg'
import type { Database } from '../../../db/database.ts'

const ident = escapeIdentifier

/** Creates a database for a measurement, and a role of the same name that owns it. */
export async function createScratch(cluster: Database, name: string, password: string): Promise<void> {
  await cluster.pool.query(`create role ${ident(name)} login password ${escapeLiteral(password)} connection limit 1`)
  const { rows } = await cluster.pool.query<{ super: boolean }>(
    'select rolsuper as super from pg_roles where rolname = current_user',
  )
  if (!rows[0]?.super) await cluster.pool.query(`grant ${ident(name)} to current_user`)
  await cluster.pool.query(`create database ${ident(name)} owner ${ident(name)} template template0 encoding 'UTF8'`)
  await cluster.pool.query(`revoke all on database ${ident(name)} from public`)
}

/** Returns the databases of measurements that no session uses, such as one that a killed command left. */
export async function listScratch(cluster: Database): Promise<string[]> {
  const { rows } = await cluster.pool.query<{ name: string }>(
    `select rolname as name from pg_roles r where starts_with(rolname, 'shoal_probe_')
       and not exists (select from pg_stat_activity a where a.datname = rolname)`,
  )
  return rows.map(({ name }) => name)
}

/** Drops the database of a measurement and its role, if they exist. */
export async function dropScratch(cluster: Database, name: string): Promise<void> {
  await cluster.pool.query(`drop database if exists ${ident(name)} with (force)`)
  await cluster.pool.query(`drop role if exists ${ident(name)}`)
}
