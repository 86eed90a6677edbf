import type { Org } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { orgTitle } from '../../api/active-org.ts'
import { InviteForm } from '../../components/InviteForm.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { roleLabels } from '../../components/role-options.ts'
import { Badge } from '../../ui/Badge.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { Card } from '../../ui/Card.tsx'
import { rolesQuery } from '../../api/roles.ts'

/** The second, optional step of creating an organization: inviting users. */
export function InviteStep({ org }: { org: Org }) {
  const roles = useQuery(rolesQuery(org.code))
  const invitedRoles = roles.data?.filter(({ status }) => status === 'invited') ?? []
  return (
    <div className="max-w-140">
      <PageHeader
        title="Invite users"
        context={`Step 2 of 2 · Invite people to work on the squids of ${orgTitle(org)}.`}
      />
      <InviteForm
        code={org.code}
        secondary={
          <Link to="/squids" className={buttonClass()}>
            {invitedRoles.length > 0 ? 'Done' : 'Skip'}
          </Link>
        }
      />
      {invitedRoles.length > 0 && (
        <Card title="Invited" className="mt-6">
          <ul className="divide-y divide-line">
            {invitedRoles.map(({ id, email, type }) => (
              <li key={id} className="flex h-10 items-center justify-between gap-3 px-3.5">
                <span className="min-w-0 wrap-anywhere">{email}</span>
                <Badge>{roleLabels[type]}</Badge>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </div>
  )
}
