/**
 * The roles and permissions of spec 6, and two permissions that Shoal adds:
 *
 * `alerts.write` is separate from `organization.write`, so that notifications can also be configured in a playground, to which
 * `organization.write` does not apply.
 *
 * `credentials.read` covers the password of a database, its export, and the RPC token. A user who has the password can change the
 * database regardless of roles, and requests with the token are billed. Viewers do not have this permission, since the specification
 * gives viewers none. Developers have it, since the squids that they deploy receive the same credentials.
 */

export const roleTypes = ['admin', 'developer', 'viewer'] as const
export type RoleType = (typeof roleTypes)[number]

const rolesByPermission = {
  'squids.write': ['admin', 'developer'],
  'credentials.read': ['admin', 'developer'],
  'billing.write': ['admin'],
  'role.write': ['admin'],
  'organization.write': ['admin'],
  'secrets.write': ['admin'],
  'rpc.write': ['admin'],
  'alerts.write': ['admin'],
} as const satisfies Record<string, readonly RoleType[]>

export type Permission = keyof typeof rolesByPermission
export const permissions = Object.keys(rolesByPermission) as Permission[]

/** A playground cannot be shared, billed, renamed or deleted, and its RPC token cannot be replaced (spec 2.6, 6). */
const notInPlayground: readonly Permission[] = ['role.write', 'organization.write', 'billing.write', 'rpc.write']

const reasons: Record<Permission, string> = {
  'squids.write': 'Your role can view squids but not change them. Ask an administrator for the developer role.',
  'credentials.read':
    'Your role cannot see passwords and tokens or export databases. Ask an administrator for the developer role.',
  // The exact text of spec 2.5.
  'billing.write': 'Payment methods management is available for users with Admin role',
  'role.write': 'Only administrators may manage members.',
  'organization.write': 'Only administrators may change the organization.',
  'secrets.write': 'Only administrators may manage secrets.',
  'rpc.write': 'Only administrators may refresh the RPC token.',
  'alerts.write': 'Only administrators may change the rules and channels of alerts.',
}

export type Membership = { roleType: RoleType; isPlayground: boolean }

/** Returns null if the member has the permission, otherwise the message to show. */
export function reasonDenied(member: Membership, permission: Permission): string | null {
  if (member.isPlayground && notInPlayground.includes(permission))
    return 'The playground is personal. Create an organization to do this.'
  const allowed: readonly RoleType[] = rolesByPermission[permission]
  return allowed.includes(member.roleType) ? null : reasons[permission]
}

export const can = (member: Membership, permission: Permission): boolean => reasonDenied(member, permission) === null
