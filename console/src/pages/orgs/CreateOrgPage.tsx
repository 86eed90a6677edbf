import { useParams } from '@tanstack/react-router'
import type { Prefetch } from '../../api/prefetch.ts'
import { useUser } from '../../api/session.ts'
import { InviteStep } from './InviteStep.tsx'
import { SetUpStep } from './SetUpStep.tsx'
import { rolesQuery } from '../../api/roles.ts'

export const prefetch: Prefetch<{ code?: string }> = ({ client, params: { code } }) => {
  if (code !== undefined) void client.prefetchQuery(rolesQuery(code))
}

/** Lets the user create an organization, in two steps (spec 2.6). The URL of the second step contains the code of the organization. */
export default function CreateOrgPage() {
  const { code } = useParams({ from: '/app/organizations/create/{-$code}' })
  const { organizations } = useUser()
  if (code === undefined) return <SetUpStep />
  // Undefined if the membership has ended since the route checked it.
  const org = organizations.find((candidate) => candidate.code === code)
  return org ? <InviteStep org={org} /> : null
}
