import { sql } from '../db/sql.ts'
import type { Db } from '../db/database.ts'

/** `location`: the host and data directory, as text for the operator. */
export type Claim = { runtime: string; host: string; location: string; takenAt: Date }

/**
 * Claims the squids for `claim.host`; with `isForced`, even if another host holds the claim. Returns false if another host still
 * holds the claim.
 */
export async function putClaim(db: Db, claim: Omit<Claim, 'takenAt'>, isForced: boolean): Promise<boolean> {
  const { rows } = await db.execute(sql`
    insert into runtime_claim (runtime, host, location, taken_at) values (${claim.runtime}, ${claim.host}, ${claim.location}, now())
    on conflict (installation) do update set runtime = excluded.runtime, host = excluded.host, location = excluded.location,
      taken_at = case when runtime_claim.host = excluded.host then runtime_claim.taken_at else now() end,
      fenced_at = case when runtime_claim.host = excluded.host then runtime_claim.fenced_at end
      where runtime_claim.host = excluded.host or ${isForced}
    returning host`)
  return rows.length > 0
}

export async function selectClaim(db: Db): Promise<Claim | null> {
  const { rows } = await db.execute<ClaimRow>(
    sql`select runtime, host, location, taken_at as "takenAt" from runtime_claim`,
  )
  return rows[0] ? claimOf(rows[0]) : null
}

/** Records whether only one organization may deploy to the host that holds the claim. */
export async function setForOneOrg(db: Db, isForOneOrg: boolean): Promise<void> {
  await db.execute(sql`update runtime_claim set is_for_one_org = ${isForOneOrg}`)
}

/**
 * Returns whether only one organization may deploy. If so, locks the claim until the end of the transaction, so that two
 * organizations cannot both be the first to deploy.
 */
export async function lockIfForOneOrg(db: Db): Promise<boolean> {
  const { rows } = await db.execute(sql`select from runtime_claim where is_for_one_org for update`)
  return rows.length > 0
}

/** Returns whether programs of a host that held the claim before may still be able to write to databases. */
export async function isUnfenced(db: Db): Promise<boolean> {
  const { rows } = await db.execute(sql`select from runtime_claim where fenced_at is null`)
  return rows.length > 0
}

/** Records that programs of hosts that held the claim before can no longer write. */
export async function setFenced(db: Db): Promise<void> {
  await db.execute(sql`update runtime_claim set fenced_at = now()`)
}

/** Deletes the claim and returns it; null if there was none. */
export async function deleteClaim(db: Db): Promise<Claim | null> {
  const { rows } = await db.execute<ClaimRow>(
    sql`delete from runtime_claim returning runtime, host, location, taken_at as "takenAt"`,
  )
  return rows[0] ? claimOf(rows[0]) : null
}

type ClaimRow = { runtime: string; host: string; location: string; takenAt: string | Date }

const claimOf = (row: ClaimRow): Claim => ({ ...row, takenAt: new Date(row.takenAt) })
