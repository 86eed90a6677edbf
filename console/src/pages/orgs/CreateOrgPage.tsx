import { can } from '@shoal/contract'
import { Navigate, useParams } from '@tanstack/react-router'
import { useUser } from '../../api/session.ts'
import { membershipOf } from '../../components/Can.tsx'
import { InviteStep } from './InviteStep.tsx'
import { SetUpStep } from './SetUpStep.tsx'

/** Spec 2.6: without a code the first step, with the code of an organization the second one. */
export default function CreateOrgPage() {
  const { code } = useParams({ from: '/app/organizations/create/{-$code}' })
  const { organizations } = useUser()
  if (code === undefined) return <SetUpStep />
  const org = organizations.find((candidate) => candidate.code === code)
  if (!org || !can(membershipOf(org), 'role.write')) return <Navigate to="/squids" replace />
  return <InviteStep org={org} />
}
