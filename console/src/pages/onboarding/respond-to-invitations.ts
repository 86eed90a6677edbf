import { ApiError, type Invitation } from '@shoal/contract'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { selectOrg } from '../../api/active-org.ts'
import { callApi, invalidate } from '../../api/query.ts'
import { sessionQuery } from '../../api/session.ts'
import { setSetting } from '../../lib/local-settings.ts'
import { toast } from '../../lib/toasts.ts'

/**
 * Returns a function that accepts the selected invitations and rejects the others, in parallel. It then opens the squids of the first
 * organization whose invitation was accepted; if there is none, the pending invitations stay on screen (spec 4, 8).
 */
export function useRespondToInvitations() {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const [isPending, setIsPending] = useState(false)

  const respond = async (invitations: readonly Invitation[], selectedIds: ReadonlySet<number>) => {
    setIsPending(true)
    const outcomes = await Promise.allSettled(
      invitations.map(({ id, organization: { code } }) =>
        callApi(selectedIds.has(id) ? 'orgs.acceptInvite' : 'orgs.rejectInvite', { params: { code, id: String(id) } }),
      ),
    )
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        toast({ tone: 'warn', title: outcome.reason instanceof ApiError ? outcome.reason.message : 'Unknown error' })
    const accepted = invitations.find(({ id }, index) => selectedIds.has(id) && outcomes[index]?.status === 'fulfilled')
    await invalidate(queryClient, 'user.get', 'user.listInvites')
    setIsPending(false)
    if (!accepted) return
    const session = queryClient.getQueryData(sessionQuery.queryKey)
    if (session?.status === 'signedIn') selectOrg(session.user, accepted.organization.code)
    toast({ tone: 'good', title: 'Invitation accepted!', message: "You're now a part of the organization." })
    setSetting('tmp_invites_checked', true)
    await navigate({ to: '/squids' })
  }
  return { isPending, respond }
}
