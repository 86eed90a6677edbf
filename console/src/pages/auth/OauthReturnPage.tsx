import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useApiMutation, useCallOnArrival } from '../../api/mutation.ts'
import { startSession } from '../../api/session.ts'
import { parseSearch } from '../../lib/search-params.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { AuthHeading, textLinkClass } from './AuthHeading.tsx'
import { consumeSavedSearch } from './oauth-search.ts'
import { submitErrorText } from '../../api/error-text.ts'

/** The time between the sign-in and the redirect to the app (spec 2.1, 9). */
const leaveAfterMs = 500

/** Completes a sign-in with a provider, which redirects to this page with a code (spec 2.1, `/oauth/{provider}`). */
export default function OauthReturnPage() {
  const { provider } = useParams({ from: '/guest/oauth/$provider' })
  const { code = '', state = '' } = useSearch({ from: '/guest/oauth/$provider' })
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const signIn = useApiMutation('auth.signInWithOauth', {
    invalidates: [],
    errorDisplay: 'caller',
    onSuccess: async ({ token }) => {
      await new Promise((resolve) => setTimeout(resolve, leaveAfterMs))
      await navigate({ to: '/', search: parseSearch(consumeSavedSearch()), replace: true })
      await startSession(queryClient, token)
    },
  })

  useCallOnArrival(signIn, { params: { provider }, body: { code, state } })

  if (!signIn.error)
    return (
      <div role="status" aria-label="Signing in">
        <AuthHeading title="Signing in">One moment.</AuthHeading>
        <Skeleton className="h-9 w-full" />
      </div>
    )
  return (
    <>
      <AuthHeading title="Sign-in failed" />
      <Alert tone="bad">{submitErrorText(signIn.error)}</Alert>
      <p className="mt-6">
        <Link to="/" className={textLinkClass}>
          Back to sign in
        </Link>
      </p>
    </>
  )
}
