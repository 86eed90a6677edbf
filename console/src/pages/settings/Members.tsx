import type { Org } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { rolesQuery } from '../../api/roles.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { openDialog } from '../../components/open-dialog.ts'
import { lazyPart } from '../../lib/lazy.tsx'
import { Button } from '../../ui/Button.tsx'
import { memberColumns } from './member-columns.tsx'
import { useMemberActions } from './use-member-actions.tsx'

const InviteDialog = lazyPart(() => import('./InviteDialog.tsx'))

/** The list of members and pending invitations. */
export default function Members({ org }: { org: Org }) {
  const roles = useQuery(rolesQuery(org.code))
  const { isOwn, actionsOf } = useMemberActions(org)
  const ownEmail = roles.data?.find(isOwn)?.email ?? null
  const columns = useMemo(() => memberColumns(ownEmail), [ownEmail])
  const invite = () => openDialog((close) => <InviteDialog code={org.code} onClose={close} />)
  return (
    <section aria-label="Members">
      <header className="mb-2.5 flex items-center gap-3">
        <h2 className="flex-1 text-md font-semibold">Members</h2>
        <Button disabledReason={useDeniedReason('role.write')} onClick={invite}>
          Invite user
        </Button>
      </header>
      <QueryTable
        label="Members"
        query={roles}
        columns={columns}
        idOf={({ id }) => String(id)}
        nameOf={({ email }) => email}
        actions={actionsOf}
        empty={null}
        loadingRows={2}
      />
    </section>
  )
}
