// Reads tables of other modules: orgs, squids. A domain is released when its organization or squid is deleted.

import { and, asc, eq, lte, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { squidDomains } from './tables.ts'

export type DomainRow = typeof squidDomains.$inferSelect

/** The channel on which gateways are notified of changes to active domains. The payload is the name. */
export const domainsChannel = 'shoal_domains'

/** A domain that gateways serve, and the tag to which they route its requests. */
export type ActiveDomain = { name: string; org: string; squid: string; tag: string }

const notifyGateways = (db: Db, name: string) => db.execute(sql`select pg_notify(${domainsChannel}, ${name})`)
const withKey = (orgId: number, name: string) => and(eq(squidDomains.orgId, orgId), eq(squidDomains.name, name))

/** Returns the domains of an organization, by name. */
export function listDomains(db: Db, orgId: number): Promise<DomainRow[]> {
  return db.select().from(squidDomains).where(eq(squidDomains.orgId, orgId)).orderBy(asc(squidDomains.name))
}

export async function selectDomain(db: Db, orgId: number, name: string): Promise<DomainRow | null> {
  const [row] = await db.select().from(squidDomains).where(withKey(orgId, name))
  return row ?? null
}

/** Inserts a domain and returns its row; null if the organization has the name already. */
export async function insertDomain(db: Db, domain: typeof squidDomains.$inferInsert): Promise<DomainRow | null> {
  const [row] = await db.insert(squidDomains).values(domain).onConflictDoNothing().returning()
  return row ?? null
}

/**
 * Changes a domain, unless it was removed; returns whether it exists. Notifies the gateways if `isActive` is part of the change.
 */
export async function updateDomain(db: Db, { orgId, name }: DomainRow, change: Partial<DomainRow>): Promise<boolean> {
  const { rowCount } = await db.update(squidDomains).set(change).where(withKey(orgId, name))
  if (change.isActive !== undefined) await notifyGateways(db, name)
  return rowCount !== 0
}

/** Deletes a domain and notifies the gateways. Returns whether it was active. */
export async function deleteDomain(db: Db, { orgId, name }: Pick<DomainRow, 'orgId' | 'name'>): Promise<boolean> {
  const [deleted] = await db
    .delete(squidDomains)
    .where(withKey(orgId, name))
    .returning({ isActive: squidDomains.isActive })
  await notifyGateways(db, name)
  return deleted?.isActive ?? false
}

/** Returns the row of the organization for which the name is active; null if there is none. */
export async function selectActive(db: Db, name: string): Promise<DomainRow | null> {
  const [row] = await db
    .select()
    .from(squidDomains)
    .where(and(eq(squidDomains.name, name), eq(squidDomains.isActive, true)))
  return row ?? null
}

/**
 * Returns domains whose next check is due: the longest overdue of each organization first, then the second of each, and so on, so that
 * many domains of one organization do not delay those of the others.
 */
export async function selectDueDomains(db: Db, now: Date, limit: number): Promise<DomainRow[]> {
  const turn = sql<number>`row_number() over (
    partition by ${squidDomains.orgId} order by ${squidDomains.nextCheckAt}, ${squidDomains.name})`
  const rows = await db
    .select({ domain: squidDomains, turn: turn.as('turn') })
    .from(squidDomains)
    .where(lte(squidDomains.nextCheckAt, now))
    .orderBy(sql`turn`, asc(squidDomains.nextCheckAt))
    .limit(limit)
  return rows.map(({ domain }) => domain)
}

/** Returns domains whose organization or squid was deleted. */
export async function selectReleased(db: Db, limit: number): Promise<Pick<DomainRow, 'orgId' | 'name'>[]> {
  // OFFSET makes Postgres search the index for each domain, instead of reading all versions.
  const { rows } = await db.execute<{ orgId: string; name: string }>(sql`
    select d.org_id as "orgId", d.name from squid_domains d join orgs o on o.id = d.org_id
    where o.deleted_at is not null or not exists (
      select 1 from squids s where s.org_id = d.org_id and s.name = d.squid_name and s.desired_state <> 'deleted' offset 0)
    limit ${limit}`)
  return rows.map((row) => ({ ...row, orgId: Number(row.orgId) }))
}

/** Returns all domains that gateways serve. */
export async function selectActiveDomains(db: Db): Promise<ActiveDomain[]> {
  const { rows } = await db.execute<ActiveDomain>(sql`
    select d.name, o.code as org, d.squid_name as squid, d.tag
    from squid_domains d join orgs o on o.id = d.org_id where d.is_active and o.deleted_at is null`)
  return rows
}

/** Whether the organization has a squid with this name that is not deleted. */
export async function squidExists(db: Db, orgId: number, squidName: string): Promise<boolean> {
  const { rows } = await db.execute(
    sql`select 1 from squids where org_id = ${orgId} and name = ${squidName} and desired_state <> 'deleted' limit 1`,
  )
  return rows.length > 0
}
