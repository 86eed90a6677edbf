// Reads tables of other modules: squids. Finds the organization of a version.

import type { ClientBase } from 'pg'
import type { Db } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { DayVolume, StoredUsage } from './limiter.ts'

/** Returns how many bytes versions and organizations have stored on `day`. `db` is the database of the control plane. */
export async function readStoredUsage(client: ClientBase, db: Db, day: string): Promise<StoredUsage> {
  const versions = await client.query<{ squidId: number; bytes: number }>(
    'select squid_id as "squidId", usage_bytes as bytes from log_streams where usage_day = $1::date',
    [day],
  )
  const ids = versions.rows.map(({ squidId }) => squidId)
  const orgIds = new Map((await readOrgs(db, ids)).map(({ squidId, orgId }) => [squidId, orgId]))
  const orgs = await client.query<{ orgId: number; bytes: number }>(
    'select org_id as "orgId", bytes from log_org_usage where day = $1::date',
    [day],
  )
  return {
    versions: new Map(
      versions.rows.map(({ squidId, bytes }) => [squidId, { day, bytes, orgId: orgIds.get(squidId) ?? null }]),
    ),
    orgs: new Map(orgs.rows.map(({ orgId, bytes }) => [orgId, { day, bytes }])),
  }
}

/** Returns the ids of the versions whose log already reports that a quota was used up on `day`, each with `day`. */
export async function readQuotaReports(client: ClientBase, day: string): Promise<Map<number, string>> {
  const { rows } = await client.query<{ squidId: number }>(
    'select squid_id as "squidId" from log_streams where quota_reported_on = $1::date',
    [day],
  )
  return new Map(rows.map(({ squidId }) => [squidId, day]))
}

/** Returns the organizations of these versions. Deleted versions have none. */
export async function readOrgs(db: Db, squidIds: number[]): Promise<{ squidId: number; orgId: number }[]> {
  const { rows } = await db.execute<{ squidId: number; orgId: number }>(
    sql`select id as "squidId", org_id as "orgId" from squids where id = any(${sql.param(squidIds)}::bigint[])`,
  )
  return rows
}

/** Stores the usage of organizations on their current day. */
export async function updateOrgUsage(client: ClientBase, usage: ReadonlyMap<number, DayVolume>): Promise<void> {
  const rows = [...usage]
  await client.query(
    `insert into log_org_usage (org_id, day, bytes) select * from unnest($1::bigint[], $2::date[], $3::bigint[])
     on conflict (org_id) do update set day = excluded.day, bytes = excluded.bytes`,
    [rows.map(([orgId]) => orgId), rows.map(([, { day }]) => day), rows.map(([, { bytes }]) => bytes)],
  )
}

/** Deletes the usage of organizations on days before `day`. */
export async function deleteOrgUsageBefore(client: ClientBase, day: string): Promise<void> {
  await client.query('delete from log_org_usage where day < $1::date', [day])
}
