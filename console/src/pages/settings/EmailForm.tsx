import type { Org } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useApiMutation } from '../../api/mutation.ts'
import { authOptionsQuery } from '../../api/session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { toast } from '../../lib/toasts.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/TextField.tsx'

/** A new address is pending until the user clicks the link in its email. */
export function EmailForm({ org: { code, email } }: { org: Org }) {
  const change = useApiMutation('orgs.update', { invalidates: ['user.get'], errorDisplay: 'caller' })
  return (
    <>
      {email.pendingEmail !== null && <Pending code={code} pending={email.pendingEmail} current={email.email} />}
      <FormShell
        schema={({ contract }) => contract.orgs.update.body.pick({ email: true }).required()}
        values={{ email: email.pendingEmail ?? email.email ?? '' }}
        onSubmit={(body) => change.mutate({ params: { code }, body })}
        pending={change.isPending}
        submitError={change.error}
        submitLabel="Save"
      >
        {({ field }) => (
          <TextField
            label="Email"
            type="email"
            description="Shoal sends notifications and bills to it. A new address has to be confirmed first."
            className="max-w-100"
            {...field('email')}
          />
        )}
      </FormShell>
    </>
  )
}

function Pending({ code, pending, current }: { code: string; pending: string; current: string | null }) {
  const outboxUrl = useQuery(authOptionsQuery).data?.outboxUrl
  const resend = useApiMutation('orgs.sendVerifyEmail', {
    invalidates: [],
    onSuccess: () => toast({ tone: 'good', title: 'The email has been sent', message: `To ${pending}.` }),
  })
  return (
    <Alert
      tone="info"
      title={`${pending} is not confirmed yet`}
      className="mb-4"
      action={
        <Button
          isPending={resend.isPending}
          onClick={() => resend.mutate({ params: { code }, body: { email: pending } })}
        >
          Resend verification
        </Button>
      }
    >
      We sent a link there.{' '}
      {current === null
        ? 'Until you click it, Shoal sends no notifications.'
        : `Until you click it, emails are sent to ${current}.`}
      {outboxUrl && (
        <>
          {' '}
          <a href={outboxUrl} target="_blank" rel="noreferrer" className="text-accent underline underline-offset-3">
            Read the email in the outbox
          </a>
        </>
      )}
    </Alert>
  )
}
