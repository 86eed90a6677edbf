import type { Org } from '@shoal/contract'
import { useApiMutation } from '../../api/mutation.ts'
import { seedOrg } from '../../api/seed-session.ts'
import { OutboxHint } from '../../components/OutboxHint.tsx'
import { FormShell } from '../../components/FormShell.tsx'
import { toast } from '../../lib/toasts.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/TextField.tsx'

/** A form that changes the notification email. A new address is pending until its recipient clicks the link in an email. */
export function EmailForm({ org: { code, email } }: { org: Org }) {
  const change = useApiMutation('orgs.update', {
    invalidates: ['user.get'],
    seeds: (client, org) => seedOrg(client, code, org),
    errorDisplay: 'caller',
  })
  return (
    <>
      {email.pendingEmail !== null && <PendingEmail code={code} pending={email.pendingEmail} current={email.email} />}
      <FormShell
        schema={({ contract }) => contract.orgs.update.body.pick({ email: true }).required()}
        values={{ email: email.pendingEmail ?? email.email ?? '' }}
        onSubmit={(body) => change.mutate({ params: { code }, body })}
        isPending={change.isPending}
        submitError={change.error}
        submitLabel="Save"
      >
        {({ field }) => (
          <TextField
            label="Email"
            type="email"
            description="Shoal sends notifications and bills to this address. A new address must be confirmed first."
            className="max-w-100"
            {...field('email')}
          />
        )}
      </FormShell>
    </>
  )
}

function PendingEmail({ code, pending, current }: { code: string; pending: string; current: string | null }) {
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
      We sent a link to this address.{' '}
      {current === null
        ? 'Until you click it, Shoal sends no notifications.'
        : `Until you click it, emails are sent to ${current}.`}
      <OutboxHint />
    </Alert>
  )
}
