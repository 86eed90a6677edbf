import { useState } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { useUser } from '../../api/session.ts'
import { OutboxHint } from '../../components/OutboxHint.tsx'
import { PageHeading } from '../../components/PageHeading.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'

/** Shown to users with an unconfirmed email instead of the pages (spec 2.3). */
export default function ConfirmEmail() {
  const user = useUser()
  const [isSent, setIsSent] = useState(false)
  const resend = useApiMutation('user.resendConfirmation', {
    invalidates: [],
    errorDisplay: 'caller',
    onSuccess: () => setIsSent(true),
  })
  return (
    <div className="mx-auto max-w-140 pt-[12vh]">
      <PageHeading title="Confirm your email">Please, confirm your email.</PageHeading>
      <p className="mt-1.5 text-ink-2">
        We sent a link to <b className="font-medium text-ink">{user.email}</b>. Click it to start using Shoal.
      </p>
      <div className="mt-5 flex flex-wrap items-center gap-3">
        <Button variant="primary" isPending={resend.isPending} onClick={() => resend.mutate({})}>
          Resend verification
        </Button>
      </div>
      <OutboxHint />
      {isSent && !resend.isError && (
        <Alert tone="good" className="mt-5">
          The email has been sent.
        </Alert>
      )}
      {resend.isError && (
        <Alert tone="bad" className="mt-5">
          Unknown error, please, try once again.
        </Alert>
      )}
    </div>
  )
}
