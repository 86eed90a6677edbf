import { useQuery, type QueryFunctionContext } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { Suspense, type ReactNode } from 'react'
import { callApi, onlyIf, q } from '../../api/query.ts'
import { sessionQuery, useUser } from '../../api/session.ts'
import { setSetting, useSetting } from '../../lib/local-settings.ts'
import { lazyPart } from '../../lib/lazy.tsx'

const Onboarding = lazyPart(() => import('./Onboarding.tsx'))

/**
 * The invitations of the user. If there are none, a user who has answered the questionnaire is not asked again in this session; for the
 * others `WelcomeStep` decides when it has saved the answers.
 */
const invitationsQuery = {
  ...q('user.listInvites', {}),
  queryFn: async ({ client, signal }: Pick<QueryFunctionContext, 'client' | 'signal'>) => {
    const invitations = await callApi('user.listInvites', {}, signal)
    // The user may have answered while the request was running.
    const session = client.getQueryData(sessionQuery.queryKey)
    const hasAnswered = session?.status === 'signedIn' && session.user.onboardingForm !== null
    if (hasAnswered && invitations.length === 0) setSetting('tmp_invites_checked', true)
    return invitations
  },
}

/**
 * Shows onboarding instead of the app until the user has responded to invitations (spec 2.2, 4). Users who have answered the
 * questionnaire and have no invitations do not see onboarding; until that is known, the gate renders `loading`.
 */
export function OnboardingGate({ loading, children }: { loading: ReactNode; children: ReactNode }) {
  const user = useUser()
  const isChecked = useSetting('tmp_invites_checked')
  // `useInvitationLink` handles the link of an invitation.
  const isLinkFollowed = useSearch({ from: '/app', select: ({ acceptInviteId }) => acceptInviteId !== undefined })
  const isDue = user.emailVerified && !isChecked
  const hasAnswered = user.onboardingForm !== null
  const invitations = useQuery(onlyIf(isDue, invitationsQuery))
  if (!isDue || (hasAnswered && invitations.data?.length === 0)) return <>{children}</>
  const isUnknown = hasAnswered && invitations.isPending
  if (isLinkFollowed || isUnknown) return <>{loading}</>
  return (
    <Suspense fallback={loading}>
      <Onboarding invitations={invitations} />
    </Suspense>
  )
}
