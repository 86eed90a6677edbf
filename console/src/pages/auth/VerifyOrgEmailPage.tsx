import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { errorText } from '../../api/error-text.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { sessionQuery } from '../../api/session.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { AuthHeading } from './AuthHeading.tsx'

/**
 * Confirms the address to which the notifications of an organization are sent. A link in a message to this address opens the page. The
 * recipient may have no account. Confirming requires a click, because email programs open links automatically.
 */
export default function VerifyOrgEmailPage() {
  const { code } = useSearch({ from: '/links/verify-email' })
  const session = useQuery(sessionQuery).data
  const navigate = useNavigate()
  const verify = useApiMutation('orgs.verifyEmail', {
    invalidates: ['user.get'],
    errorDisplay: 'caller',
    onSuccess: async (org) => {
      const isMember =
        session?.status === 'signedIn' &&
        session.user.organizations.some((organization) => organization.code === org.code)
      if (isMember)
        await navigate({ to: '/settings', search: { emailVerified: 'true', organization: org.code }, replace: true })
    },
  })
  return (
    <>
      <AuthHeading title="Confirm notification email">
        An organization wants Shoal to send its notifications and bills to your address.
      </AuthHeading>
      {verify.data ? (
        <Alert tone="good" title={`${verify.data.email} is confirmed`}>
          It receives the notifications of {verify.data.name ?? verify.data.code}.
        </Alert>
      ) : (
        <Button
          variant="primary"
          size={36}
          isPending={verify.isPending}
          onClick={() => verify.mutate({ body: { code: code ?? '' } })}
        >
          Confirm email
        </Button>
      )}
      {verify.isError && (
        <Alert tone="bad" className="mt-5">
          {errorText(verify.error)}
        </Alert>
      )}
    </>
  )
}
