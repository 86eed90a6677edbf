import { ApiError } from '@shoal/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { submitErrorText } from '../../api/error-text.ts'
import { useApiMutation, useCallOnArrival } from '../../api/mutation.ts'
import { endSession, sessionQuery } from '../../api/session.ts'
import { toast } from '../../lib/toasts.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { AuthHeading } from './AuthHeading.tsx'
import { SignInForm } from './SignInForm.tsx'

const title = 'Confirm your email'

/**
 * The page that the link in a confirmation email opens. Confirming requires a session of the same account, so that a user does not confirm
 * an account that another user created with this email: only that user has its password.
 */
export default function ConfirmEmailPage() {
  const { code, email } = useSearch({ from: '/links/confirm-email' })
  const session = useQuery(sessionQuery).data
  if (session === undefined || session.status === 'unavailable') return <Pending />
  if (session.status === 'signedOut')
    return (
      <>
        <AuthHeading title={title}>
          {email ? `Sign in as ${email} to confirm it.` : 'Sign in to confirm your email.'} Use the password you chose
          when you signed up. If you did not sign up, ignore the email.
        </AuthHeading>
        <SignInForm {...(email && { email })} />
      </>
    )
  if (email && email !== session.user.email) return <OtherAccount current={session.user.email} />
  return <Confirm code={code ?? ''} current={session.user.email} />
}

function Confirm({ code, current }: { code: string; current: string }) {
  const navigate = useNavigate()
  const confirmation = useApiMutation('auth.confirmEmail', {
    invalidates: ['user.get'],
    errorDisplay: 'caller',
    onSuccess: async () => {
      toast({ tone: 'good', title: 'Your email is confirmed.' })
      await navigate({ to: '/squids', replace: true })
    },
  })
  const { error, mutate } = confirmation
  useCallOnArrival(confirmation, { body: { code } })
  if (!error) return <Pending />
  const reason = error instanceof ApiError ? error.body.code : null
  if (reason === 'OTHER_ACCOUNT') return <OtherAccount current={current} />
  return (
    <>
      <AuthHeading title={title} />
      {reason === 'LINK_INVALID' ? (
        <Alert tone="warn" title="This confirmation link is no longer valid">
          Press Resend verification to get a new one.
        </Alert>
      ) : (
        <Alert tone="bad">{submitErrorText(error)}</Alert>
      )}
      <div className="mt-5 flex flex-wrap gap-3">
        <Link to="/squids" className={buttonClass('primary')}>
          Continue to Shoal
        </Link>
        {reason !== 'LINK_INVALID' && <Button onClick={() => mutate({ body: { code } })}>Try again</Button>}
      </div>
    </>
  )
}

function OtherAccount({ current }: { current: string }) {
  const queryClient = useQueryClient()
  return (
    <>
      <AuthHeading title={title} />
      <Alert tone="warn" title="This link belongs to another account">
        You are signed in as {current}. Sign out, then sign in with the account that the link is for.
      </Alert>
      <div className="mt-5 flex flex-wrap gap-3">
        <Button variant="primary" onClick={() => void endSession(queryClient)}>
          Sign out and continue
        </Button>
        <Link to="/squids" className={buttonClass()}>
          Stay signed in
        </Link>
      </div>
    </>
  )
}

const Pending = () => (
  <div role="status" aria-label={title}>
    <AuthHeading title={title}>One moment.</AuthHeading>
    <Skeleton className="h-9 w-full" />
  </div>
)
