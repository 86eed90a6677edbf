import { sql } from 'drizzle-orm'
import type { Db } from '../db/database.ts'

/** `place` is the host and data directory, as a text for the operator. */
export type Claim = { runtime: string; host: string; place: string; takenAt: Date }

/** Claims the squids for `claim.host`; with `isForced` even if another host holds the claim. Returns whether `claim.host` holds it now. */
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

/** Deletes the claim and returns it; null if there was none. */
export async function deleteClaim(db: Db): Promise<Claim | null> {
  const { rows } = await db.execute<ClaimRow>(
    sql`delete from runtime_claim returning runtime, host, place, taken_at as "takenAt"`,
  )
  return rows[0] ? claimOf(rows[0]) : null
}

type ClaimRow = { runtime: string; host: string; place: string; takenAt: string | Date }

const claimOf = (row: ClaimRow): Claim => ({ ...row, takenAt: new Date(row.takenAt) })
