// Reads tables of other modules: sessions, users. Operators list all users with their sessions.

import type { OperatorUser } from '@shoal/contract'
import type { Db } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'

type Row = Omit<OperatorUser, 'disabledAt' | 'lastSeenAt' | 'createdAt'> &
  Record<'disabledMs' | 'lastSeenMs' | 'createdMs', number | null>

/** Returns one page of the users whose email or name contains `search`, the newest first, and their total number. */
export async function selectUsers(
  db: Db,
  { search, offset, limit, now }: { search: string; offset: number; limit: number; now: Date },
): Promise<{ users: OperatorUser[]; total: number }> {
  const text = search.toLowerCase()
  const isFound = text === '' ? sql`true` : sql`position(${text} in lower(u.email || ' ' || u.full_name)) > 0`
  const { rows } = await db.execute<Row>(sql`
    select u.id, u.email, u.full_name as "fullName", u.email_verified as "emailVerified", u.is_operator as "isOperator",
      (extract(epoch from u.disabled_at) * 1000)::float8 as "disabledMs", s.sessions::int as sessions,
      (extract(epoch from s.last_seen) * 1000)::float8 as "lastSeenMs",
      (extract(epoch from u.created_at) * 1000)::float8 as "createdMs"
    from (select * from users u where ${isFound} order by u.id desc limit ${limit} offset ${offset}) as u
    cross join lateral (
      select count(*) as sessions, max(last_seen_at) as last_seen from sessions
      where user_id = u.id and expires_at > ${now}
    ) as s order by u.id desc`)
  const counted = await db.execute<{ total: number }>(sql`select count(*)::int as total from users u where ${isFound}`)
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
  const users = rows.map(({ disabledMs, lastSeenMs, createdMs, ...row }) => ({
    ...row,
    disabledAt: time(disabledMs),
    lastSeenAt: time(lastSeenMs),
    createdAt: time(createdMs ?? 0) ?? '',
  }))
  return { users, total: counted.rows[0]?.total ?? 0 }
}
