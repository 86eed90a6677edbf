import { roleTypes, type RoleType } from '@shoal/contract'

/** Display names of the roles (spec 6). */
export const roleLabels: Record<RoleType, string> = { admin: 'Admin', developer: 'Developer', viewer: 'Viewer' }

const roleDescriptions: Record<RoleType, string> = {
  admin: 'Full access',
  developer: 'Can deploy and manage squids',
  viewer: 'Read-only access',
}

/** The roles as options of a radio group. */
export const roleOptions = roleTypes.map((value) => ({
  value,
  label: roleLabels[value],
  description: roleDescriptions[value],
}))
