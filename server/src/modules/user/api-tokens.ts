import type { ApiToken } from '@shoal/contract'
import type { App } from '../../app.ts'
import { invalidField } from '../../errors.ts'
import { hashOf, newApiTokenKey, displayPrefix } from '../auth/index.ts'
import { addApiToken } from './store.ts'

export type NewApiToken = { userId: number; name: string; expiresAt: Date | null }

/**
 * Creates an API token; `token` is its key, returned only here and stored as a hash.
 * @throws Refusal 400 on the field `name` when the user has a token with it, on `expiresAt` when it is past
 */
export async function createApiToken(app: App, input: NewApiToken): Promise<ApiToken & { token: string }> {
  const now = app.clock.now()
  if (input.expiresAt && input.expiresAt <= now) throw invalidField('expiresAt', 'The expiry must be in the future')
  const token = newApiTokenKey()
  const row = await addApiToken(app.db, { ...input, prefix: displayPrefix(token), hash: hashOf(token), createdAt: now })
  if (!row) throw invalidField('name', 'Token name is required and must be unique')
  return { ...apiTokenAnswer(row), token }
}

type Row = NonNullable<Awaited<ReturnType<typeof addApiToken>>>

export function apiTokenAnswer(row: Row): ApiToken {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt?.toISOString() ?? null,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  }
}
