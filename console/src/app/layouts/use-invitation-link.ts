import { useNavigate, useSearch } from '@tanstack/react-router'
import { useQueryClient } from '@tanstack/react-query'
import { ApiError } from '@shoal/contract'
import { selectOrg } from '../../api/active-org.ts'
import { useApiMutation, useCallOnArrival } from '../../api/mutation.ts'
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
  const accept = useApiMutation('orgs.acceptInvite', {
    invalidates: ['user.get'],
    errorDisplay: 'caller',
    onSuccess: ({ code }) => {
      setSetting('tmp_invites_checked', true)
      const session = queryClient.getQueryData(sessionQuery.queryKey)
      if (session?.status === 'signedIn') selectOrg(session.user, code)
      toast({ tone: 'good', title: 'Invitation accepted!', message: "You're now a part of the organization." })
      openSquids()
    },
  })
  const openSquids = () => void navigate({ to: '/squids', search: { organization }, replace: true })
  const call =
    organization && acceptInviteId && isVerified
      ? { params: { code: organization, id: acceptInviteId }, ...(inviteKey && { body: { key: inviteKey } }) }
      : null
  const mutate = (sent: NonNullable<typeof call>) =>
    accept.mutate(sent, {
      onError: (error) => {
        toast({ tone: 'warn', title: error instanceof ApiError ? error.message : 'Unknown error' })
        openSquids()
      },
    })
  useCallOnArrival({ mutate, isIdle: accept.isIdle }, call)
}
