import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { Suspense, useEffect, type ReactNode } from 'react'
import { q } from '../../api/query.ts'
import { useUser } from '../../api/session.ts'
import { setSetting, useSetting } from '../../lib/local-settings.ts'
import { lazyPart } from '../../lib/lazy.tsx'

const Onboarding = lazyPart(() => import('./Onboarding.tsx'))

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
  const invitations = useQuery({ ...q('user.listInvites', {}), enabled: isDue })
  const hasNoInvitations = isDue && hasAnswered && invitations.data?.length === 0

  useEffect(() => {
    if (hasNoInvitations) setSetting('tmp_invites_checked', true)
  }, [hasNoInvitations])

  if (!isDue) return <>{children}</>
  const isUnknown = hasAnswered && invitations.isPending
  if (isLinkFollowed || hasNoInvitations || isUnknown) return <>{loading}</>
  return (
    <Suspense fallback={loading}>
      <Onboarding invitations={invitations} />
    </Suspense>
  )
}
