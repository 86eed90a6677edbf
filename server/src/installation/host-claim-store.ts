import { sql } from 'drizzle-orm'
import type { Db } from '../db/database.ts'

/** `place`: host and data directory, in words for the operator. */
export type Claim = { runtime: string; host: string; place: string; takenAt: Date }

/** True when the claim is this host's afterwards. `isForced`: whoever has it now. */
export async function putClaim(db: Db, claim: Omit<Claim, 'takenAt'>, isForced: boolean): Promise<boolean> {
  const { rows } = await db.execute(sql`
    insert into runtime_claim (runtime, host, place, taken_at) values (${claim.runtime}, ${claim.host}, ${claim.place}, now())
    on conflict (installation) do update set runtime = excluded.runtime, host = excluded.host, place = excluded.place,
      taken_at = case when runtime_claim.host = excluded.host then runtime_claim.taken_at else now() end
      where runtime_claim.host = excluded.host or ${isForced}
    returning host`)
  return rows.length > 0
}

export async function selectClaim(db: Db): Promise<Claim | null> {
  const { rows } = await db.execute<ClaimRow>(
    sql`select runtime, host, place, taken_at as "takenAt" from runtime_claim`,
  )
  return rows[0] ? claimOf(rows[0]) : null
}

/** What was claimed until now. */
export async function deleteClaim(db: Db): Promise<Claim | null> {
  const { rows } = await db.execute<ClaimRow>(
    sql`delete from runtime_claim returning runtime, host, place, taken_at as "takenAt"`,
  )
  return rows[0] ? claimOf(rows[0]) : null
}

type ClaimRow = { runtime: string; host: string; place: string; takenAt: string | Date }

const claimOf = (row: ClaimRow): Claim => ({ ...row, takenAt: new Date(row.takenAt) })
