import { includesScope, type Endpoint, type RoleType } from '@shoal/contract'
import { refuse } from '../../errors.ts'
import type { Actor } from '../call.ts'

type Token = Pick<Actor, 'tokenScope' | 'tokenOrgId'>

/**
 * Checks whether an API token may call the endpoint; sessions always may. A token of one organization may not change anything outside it.
 * @throws Refusal 405 with the reason when the token may not
 */
function requireTokenRights({ scope, access }: Endpoint, { tokenScope, tokenOrgId }: Token): void {
  if (tokenScope === null) return
  if (scope === null || scope === 'session')
    throw refuse('SESSION_NEEDED', 'This needs a signed-in user; an API token is not enough.')
  if (!includesScope(tokenScope, scope))
    throw refuse(
      'TOKEN_SCOPE',
      `This needs an API token with the scope "${scope}"; yours has the scope "${tokenScope}".`,
    )
  const isOutsideOrgs = access === 'user' || access === 'verified'
  if (tokenOrgId !== null && isOutsideOrgs && scope !== 'read')
    throw refuse('TOKEN_SCOPE', 'This needs an API token for all organizations; yours works in one.')
}

/** Returns the effective role of the caller: `viewer`, who sees no credentials, for a token with the scope `read`. */
const roleWith = ({ tokenScope }: Token, roleType: RoleType): RoleType => (tokenScope === 'read' ? 'viewer' : roleType)

export const tokenRights = { requireTokenRights, roleWith }
