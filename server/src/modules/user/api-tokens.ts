import type { ApiToken, TokenScope } from '@shoal/contract'
import type { App } from '../../app.ts'
import { invalidField } from '../../errors.ts'
import { addApiToken } from '../auth/index.ts'
import { findMembership } from '../orgs/index.ts'
import type { ApiTokenRow } from './store.ts'

export type NewApiToken = {
  userId: number
  name: string
  expiresAt: Date | null
  scope: TokenScope
  /** The code of the only organization that the token may access; null: all organizations of the user. */
  organization: string | null
}

/**
 * Creates an API token. The returned `token` is the key, of which only the hash is stored.
 * @throws Refusal 400 on the field `name` when the user already has a token with this name, on `expiresAt` when it is in the past, on
 * `organization` when the user is not a member
 */
export async function createApiToken(
  app: App,
  { organization: code, ...input }: NewApiToken,
): Promise<ApiToken & { token: string }> {
  const now = app.clock.now()
  if (input.expiresAt && input.expiresAt <= now) throw invalidField('expiresAt', 'The expiry must be in the future')
  const org = code === null ? null : await findMembership(app.db, code.toLowerCase(), input.userId)
  if (code !== null && !org) throw invalidField('organization', 'You are not a member of this organization.')
  const row = await addApiToken(app.db, { ...input, orgId: org?.id ?? null, createdAt: now })
  if (!row) throw invalidField('name', 'Token name is required and must be unique')
  return { ...presentApiToken({ ...row, organization: org }), token: row.key }
}

export function presentApiToken(row: ApiTokenRow): ApiToken {
  return {
    id: row.id,
    name: row.name,
    scope: row.scope,
    organization: row.organization && { code: row.organization.code, name: row.organization.name },
    prefix: row.prefix,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt?.toISOString() ?? null,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  }
}
