import { tokenScopes, type TokenScope } from '@shoal/contract'

/** Display names of the scopes. */
export const scopeLabels: Record<TokenScope, string> = { read: 'Read', deploy: 'Deploy', admin: 'Admin' }

const scopeDescriptions: Record<TokenScope, string> = {
  read: 'For dashboards and monitoring. Sees what a viewer sees, without passwords.',
  deploy: 'For the command line and CI. Also deploys, restarts and deletes squids, and changes secrets.',
  admin: 'Everything your role allows, such as members, billing and alerts.',
}

/** The scopes, from the least to the most rights. A token never has more rights than its user's role. */
export const scopeOptions = tokenScopes.map((value) => ({
  value,
  label: scopeLabels[value],
  description: scopeDescriptions[value],
}))

/** The label for tokens that are not limited to one organization. */
export const allOrganizationsLabel = 'All organizations'
