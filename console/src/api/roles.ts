import type { Role } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { q } from './query.ts'
import { seed, withItem } from './seed.ts'

/** The members and invitations of an organization. */
export const rolesQuery = (code: string) => q('orgs.listRoles', { params: { code } })

/** Adds an invited member to the cached list, or replaces a changed one. */
export const seedRole = (client: QueryClient, code: string, role: Role): void =>
  seed(client, 'orgs.listRoles', { params: { code } }, (roles) => withItem(roles, role, ({ id }) => id))
