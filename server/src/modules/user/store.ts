// Reads tables of other modules: api_tokens, orgs. API tokens are listed with their organization.

import { and, desc, eq, getTableColumns } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { apiTokens, type users } from '../auth/index.ts'
import { orgs } from '../orgs/index.ts'

export type UserRow = typeof users.$inferSelect

const apiTokenColumns = {
  ...getTableColumns(apiTokens),
  organization: { code: orgs.code, name: orgs.name },
}
const selectApiTokens = (db: Db) =>
  db.select(apiTokenColumns).from(apiTokens).leftJoin(orgs, eq(orgs.id, apiTokens.orgId))

export type ApiTokenRow = Awaited<ReturnType<typeof selectApiTokens>>[number]

/** Returns the newest 1,000 API tokens of a user, newest first. */
export function listApiTokens(db: Db, userId: number): Promise<ApiTokenRow[]> {
  return selectApiTokens(db).where(eq(apiTokens.userId, userId)).orderBy(desc(apiTokens.id)).limit(1000)
}

/** Finds a token by id. Returns null when the user has no such token. */
export async function findApiToken(db: Db, userId: number, id: number): Promise<ApiTokenRow | null> {
  const [row] = await selectApiTokens(db).where(and(eq(apiTokens.userId, userId), eq(apiTokens.id, id)))
  return row ?? null
}
