// Reads tables of other modules: orgs, squid_tags. Selects organizations with their caps and tagged versions.

import { and, eq, isNotNull, isNull, or, sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { orgs } from '../../orgs/index.ts'
import type { AccountRow } from '../payments/payment-store.ts'
import { billingAccounts } from '../tables.ts'

/** Accounts with a cap, or whose organization still feels one. */
export async function listAccountsWithCaps(db: Db): Promise<AccountRow[]> {
  const rows = await db
    .select({ account: billingAccounts })
    .from(billingAccounts)
    .innerJoin(orgs, and(eq(orgs.id, billingAccounts.orgId), isNull(orgs.deletedAt)))
    .where(
      or(
        isNotNull(billingAccounts.spendCapUsd),
        isNotNull(billingAccounts.rpcRequestsCap),
        isNotNull(orgs.deploysStoppedUntil),
        isNotNull(orgs.rpcRequestsCap),
      ),
    )
  return rows.map((row) => row.account)
}

/** Versions with tags: their addresses are what others were given. */
export async function versionsWithTags(db: Db, orgId: number): Promise<Set<number>> {
  const { rows } = await db.execute<{ squidId: number }>(
    sql`select distinct squid_id as "squidId" from squid_tags where org_id = ${orgId}`,
  )
  return new Set(rows.map((row) => row.squidId))
}
