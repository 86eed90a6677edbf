import type { Org } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { orgTitle } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { confirm } from '../../components/confirm.ts'
import { Button } from '../../ui/Button.tsx'
import { Card } from '../../ui/Card.tsx'
import { useMemberActions } from './use-member-actions.tsx'
import { rolesQuery } from '../../api/roles.ts'

/** Lets the user leave or delete the organization. */
export default function DangerZone({ org }: { org: Org }) {
  const navigate = useNavigate()
  const { isOwn, leaveOf } = useMemberActions(org)
  const ownRole = useQuery(rolesQuery(org.code)).data?.find(isOwn)
  const remove = useApiMutation('orgs.delete', {
    invalidates: ['user.get'],
    errorDisplay: 'caller',
    onSuccess: () => navigate({ to: '/squids' }),
  })
  const confirmDelete = () =>
    confirm({
      title: `Delete ${orgTitle(org)}?`,
      body: (
        <>
          <p>This cannot be undone. It permanently deletes:</p>
          <ul className="mt-2 list-disc pl-5">
            <li>all squids of the organization, with their databases, logs, metrics and URLs</li>
            <li>its secrets, RPC token, members and invitations</li>
          </ul>
          <p className="mt-2">
            This month's usage is charged with a final invoice. The accounts of members and their other organizations
            are not affected.
          </p>
        </>
      ),
      confirmLabel: 'Delete organization',
      isDanger: true,
      typedName: org.code,
      action: () => remove.mutateAsync({ params: { code: org.code } }),
    })
  return (
    <Card title="Leave or delete">
      <div className="divide-y divide-line">
        <ActionRow text="You lose all access to this organization. Its squids keep running.">
          <Button isDisabled={ownRole === undefined} onClick={() => ownRole && leaveOf(ownRole).run()}>
            Leave organization
          </Button>
        </ActionRow>
        <ActionRow text="Deletes the organization with all its squids and data, for all members.">
          <Button variant="danger" disabledReason={useDeniedReason('organization.write')} onClick={confirmDelete}>
            Delete organization
          </Button>
        </ActionRow>
      </div>
    </Card>
  )
}

const ActionRow = ({ text, children }: { text: string; children: ReactNode }) => (
  <div className="flex flex-wrap items-center justify-between gap-3 px-3.5 py-3">
    <p className="min-w-0 flex-1 basis-60 text-ink-2">{text}</p>
    {children}
  </div>
)
