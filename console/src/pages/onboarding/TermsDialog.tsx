import { useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { errorText } from '../../api/error-text.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seedUser } from '../../api/seed-session.ts'
import { endSession } from '../../api/session.ts'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { TermsLink } from '../../components/TermsLink.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { dialogFooterClass } from '../../ui/control-classes.ts'

/** A dialog that blocks the app until the user accepts the terms. It has no Cancel button; closing it signs the user out (spec 2.3, 4). */
export default function TermsDialog() {
  const queryClient = useQueryClient()
  const [isAccepted, setIsAccepted] = useState(false)
  const [isSubscribed, setIsSubscribed] = useState(false)
  const accept = useApiMutation('user.completeOnboarding', {
    invalidates: ['user.get'],
    seeds: seedUser,
    errorDisplay: 'caller',
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isAccepted || accept.isPending) return
    accept.mutate({ body: { policyAccepted: true, ...(isSubscribed && { subscribeNewsletter: true }) } })
  }
  return (
    <LazyDialog title="Terms of service" isOpen isDismissable={false} onClose={() => void endSession(queryClient)}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <p>Accept the terms to use Shoal. Closing this dialog signs you out.</p>
        <Checkbox checked={isAccepted} onChange={(event) => setIsAccepted(event.target.checked)}>
          I accept the <TermsLink />
        </Checkbox>
        <Checkbox checked={isSubscribed} onChange={(event) => setIsSubscribed(event.target.checked)}>
          Send me news about the product, 1-2 mails per quarter
        </Checkbox>
        {accept.isError && <Alert tone="bad">{errorText(accept.error)}</Alert>}
        <div className={dialogFooterClass}>
          <Button
            type="submit"
            variant="primary"
            isPending={accept.isPending}
            disabledReason={isAccepted ? null : 'Field must be checked'}
          >
            Accept
          </Button>
        </div>
      </form>
    </LazyDialog>
  )
}
