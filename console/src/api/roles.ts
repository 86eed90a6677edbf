import { q } from './query.ts'

/** The members and invitations of an organization. */
export const rolesQuery = (code: string) => q('orgs.listRoles', { params: { code } })
