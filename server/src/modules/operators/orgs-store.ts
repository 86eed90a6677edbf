// Reads tables of other modules: orgs, roles, squids, users. Operators list all organizations and find them by a member's email.

import type { OrgStatus } from '@shoal/contract'
import type { Db } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'

export type OrgListRow = {
  id: number
  code: string
  name: string | null
  isPlayground: boolean
  status: OrgStatus
  suspendedAt: Date | null
  suspensionReason: string | null
  squids: number
  squidsLimit: number
  createdAt: Date
}

/** Returns the organizations whose name or code contains `search`, or with a member of that email; all if `search` is empty. */
export async function listOrgRows(
  db: Db,
  { search, state }: { search: string; state: OrgStatus | 'PLAYGROUND' | 'SUSPENDED' | undefined },
): Promise<OrgListRow[]> {
  const text = search.toLowerCase()
  const hasText = sql`position(${text} in lower(coalesce(o.name, '') || ' ' || o.code)) > 0`
  const hasMember = sql`o.id in (select r.org_id from roles r join users u on u.id = r.user_id where u.email = ${text})`
  const isFound = text === '' ? sql`true` : sql`(${hasText} or ${hasMember})`
  const { rows } = await db.execute<
    Omit<OrgListRow, 'suspendedAt' | 'createdAt'> & Record<'suspendedMs' | 'createdMs', number | null>
  >(sql`
    select o.id, o.code, o.name, o.is_playground as "isPlayground", o.status, o.suspension_reason as "suspensionReason",
      (extract(epoch from o.suspended_at) * 1000)::float8 as "suspendedMs",
      (extract(epoch from o.created_at) * 1000)::float8 as "createdMs",
      o.squids_limit as "squidsLimit", (select count(*)::int from squids where org_id = o.id) as squids
    from orgs o
    where o.deleted_at is null and ${isFound} and ${isInState(state)}`)
  return rows.map(({ suspendedMs, createdMs, ...row }) => ({
    ...row,
    suspendedAt: suspendedMs === null ? null : new Date(suspendedMs),
    createdAt: new Date(createdMs ?? 0),
  }))
}

function isInState(state: OrgStatus | 'PLAYGROUND' | 'SUSPENDED' | undefined) {
  if (state === undefined) return sql`true`
  if (state === 'SUSPENDED') return sql`o.suspended_at is not null`
  if (state === 'PLAYGROUND') return sql`o.is_playground`
  return sql`not o.is_playground and o.status = ${state}`
}
