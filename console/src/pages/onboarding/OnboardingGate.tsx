import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, type ReactNode } from 'react'
import { q } from '../../api/query.ts'
import { useUser } from '../../api/session.ts'
import { setSetting, useSetting } from '../../lib/local-settings.ts'

const Onboarding = lazy(() => import('./Onboarding.tsx'))

/**
 * Shows onboarding before the app while invitations are unchecked (spec 2.2, 4). Skipped for users who have answered
 * the questionnaire and have no invitations; `loading` is rendered until that is known.
 */
export function OnboardingGate({ loading, children }: { loading: ReactNode; children: ReactNode }) {
  const user = useUser()
  const isChecked = useSetting('tmp_invites_checked')
  // An invitation link accepts its invitation itself.
  const isLinkFollowed = useSearch({ from: '/app', select: ({ acceptInviteId }) => acceptInviteId !== undefined })
  const isDue = user.emailVerified && !isChecked
  const isAnswered = user.onboardingForm !== null
  const invitations = useQuery({ ...q('user.listInvites', {}), enabled: isDue })
  const hasNoInvitations = isDue && isAnswered && invitations.data?.length === 0

  useEffect(() => {
    if (hasNoInvitations) setSetting('tmp_invites_checked', true)
  }, [hasNoInvitations])

  if (!isDue) return <>{children}</>
  const isUnknown = isAnswered && invitations.isPending
  if (isLinkFollowed || hasNoInvitations || isUnknown) return <>{loading}</>
  return (
    <Suspense fallback={loading}>
      <Onboarding invitations={invitations} />
    </Suspense>
  )
}
