import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import { ApiError } from '@shoal/contract'
import { selectOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { sessionQuery, useUser } from '../../api/session.ts'
import { setSetting } from '../../lib/local-settings.ts'
import { toast } from '../../lib/toasts.ts'

/**
 * Accepts the invitation that an email links to, `?organization=…&acceptInviteId=…&inviteKey=…`, and opens the squids of that
 * organization (spec 2.2, 4, 8). Users with an unconfirmed email have to confirm it first; the link stays in the address bar.
 */
export function useInvitationLink(): void {
  const { organization, acceptInviteId, inviteKey } = useSearch({ from: '/app' })
  const isVerified = useUser().emailVerified
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const { mutate, isIdle } = useApiMutation('orgs.acceptInvite', { invalidates: ['user.get'], errorDisplay: 'caller' })

  useEffect(() => {
    if (!organization || !acceptInviteId || !isVerified || !isIdle) return
    const openSquids = () => navigate({ to: '/squids', search: { organization }, replace: true })
    mutate(
      { params: { code: organization, id: acceptInviteId }, ...(inviteKey && { body: { key: inviteKey } }) },
      {
        onSuccess: () => {
          setSetting('tmp_invites_checked', true)
          const session = queryClient.getQueryData(sessionQuery.queryKey)
          if (session?.status === 'signedIn') selectOrg(session.user, organization)
          toast({ tone: 'good', title: 'Invitation accepted!', message: "You're now a part of the organization." })
          void openSquids()
        },
        onError: (error) => {
          toast({ tone: 'warn', title: error instanceof ApiError ? error.message : 'Unknown error' })
          void openSquids()
        },
      },
    )
  }, [organization, acceptInviteId, inviteKey, isVerified, isIdle, mutate, navigate, queryClient])
}
