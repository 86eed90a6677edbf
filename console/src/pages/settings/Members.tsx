import { roleTypes, type Org, type Role } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Check } from 'lucide-react'
import { useMemo, useState } from 'react'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { roleLabels } from '../../components/role-options.ts'
import { Button } from '../../ui/Button.tsx'
import { useMemberActions } from './member-actions.ts'
import { memberColumns } from './member-columns.tsx'
import { rolesQuery } from '../../api/roles.ts'
import { lazyPart, Optional } from '../../lib/lazy.tsx'

const InviteDialog = lazyPart(() => import('./InviteDialog.tsx'))

/** The list of members and pending invitations. */
export default function Members({ org }: { org: Org }) {
  const { data, error, refetch } = useQuery(rolesQuery(org.code))
  const [isInviting, setIsInviting] = useState(false)
  const actions = useMemberActions(org)
  const ownEmail = data?.find(actions.isOwn)?.email ?? null
  const columns = useMemo(() => memberColumns(ownEmail), [ownEmail])

  const menuOf = (role: Role) => ({
    label: `Actions for ${role.email}`,
    groups: [
      {
        id: 'role',
        title: 'Role',
        actions: roleTypes.map((type) => ({
          id: type,
          label: roleLabels[type],
          hint: role.type === type && <Check size={14} aria-label="Current role" className="text-accent" />,
          disabledReason: actions.roleDisabledReason(role),
          onAction: () => role.type !== type && actions.changeRole(role, type),
        })),
      },
      {
        id: 'leave',
        actions: [
          actions.isOwn(role)
            ? { id: 'leave', label: 'Leave organization', isDanger: true, onAction: () => actions.leave(role) }
            : {
                id: 'remove',
                label: 'Remove user',
                isDanger: true,
                disabledReason: actions.deniedReason,
                onAction: () => actions.removeUser(role),
              },
        ],
      },
    ],
  })

  return (
    <section aria-label="Members">
      <header className="mb-2.5 flex items-center gap-3">
        <h2 className="flex-1 text-md font-semibold">Members</h2>
        <Button disabledReason={actions.deniedReason} onClick={() => setIsInviting(true)}>
          Invite user
        </Button>
      </header>
      {error && data === undefined ? (
        <ErrorState what="The members could not be loaded" error={error} onRetry={() => void refetch()} />
      ) : (
        <DataTable
          label="Members"
          columns={columns}
          rows={data}
          idOf={({ id }) => String(id)}
          nameOf={({ email }) => email}
          menuOf={menuOf}
          empty={null}
          loadingRows={2}
        />
      )}
      <Optional what="The invitation" onFailed={() => setIsInviting(false)}>
        {isInviting && <InviteDialog code={org.code} onClose={() => setIsInviting(false)} />}
      </Optional>
    </section>
  )
}
