import type { Invitation } from '@shoal/contract'
import { useState } from 'react'
import { orgTitle } from '../../api/active-org.ts'
import { confirm } from '../../components/confirm.ts'
import { Button } from '../../ui/Button.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { useRespondToInvitations } from './respond-to-invitations.ts'

/** Lists the pending invitations, initially all selected. After a confirmation, those that are not selected are rejected (spec 4). */
export function InvitationsStep({ invitations }: { invitations: readonly Invitation[] }) {
  const [unselectedIds, setUnselectedIds] = useState<ReadonlySet<number>>(new Set())
  const { isPending, respond } = useRespondToInvitations()
  const selectedIds = new Set(invitations.map(({ id }) => id).filter((id) => !unselectedIds.has(id)))
  const rejected = invitations.filter(({ id }) => unselectedIds.has(id))

  const toggle = (id: number) => setUnselectedIds((current) => current.symmetricDifference(new Set([id])))
  const acceptSelected = () => respond(invitations, selectedIds)
  const confirmRejections = () =>
    confirm({
      title: 'Confirm your invitation choices',
      body: (
        <>
          <p>The invitations you did not select will be rejected:</p>
          <ul className="mt-2 list-disc pl-5 text-ink">
            {rejected.map(({ id, organization }) => (
              <li key={id}>{orgTitle(organization)}</li>
            ))}
          </ul>
        </>
      ),
      confirmLabel: 'Confirm',
      action: acceptSelected,
    })

  return (
    <>
      <ul className="divide-y divide-line rounded-lg border border-line">
        {invitations.map(({ id, organization, invitedBy }) => (
          <li key={id} className="px-3.5 py-3">
            <Checkbox checked={selectedIds.has(id)} onChange={() => toggle(id)} disabled={isPending}>
              <span className="block font-medium">{orgTitle(organization)}</span>
              {invitedBy && (
                <span className="block text-sm text-ink-3">
                  Invited by {invitedBy.fullName || invitedBy.email}
                  {invitedBy.fullName && ` (${invitedBy.email})`}
                </span>
              )}
            </Checkbox>
          </li>
        ))}
      </ul>
      <Button
        variant="primary"
        className="mt-4"
        isPending={isPending}
        onClick={() => (rejected.length > 0 ? confirmRejections() : void acceptSelected())}
      >
        Continue
      </Button>
    </>
  )
}
