import { lazy, Suspense } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { useUser } from '../../api/session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { toast } from '../../lib/toasts.ts'
import { Card } from '../../ui/Card.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { PasswordForm } from './PasswordForm.tsx'

const Sessions = lazy(() => import('./Sessions.tsx'))

/** The user's profile, password and sessions (spec 2.12, `/profile/settings`). */
export default function AccountSettingsPage() {
  return (
    <div className="flex max-w-200 flex-col gap-5">
      <div>
        <PageHeader title="Account settings" />
        <Card title="Profile" isPadded>
          <ProfileForm />
        </Card>
      </div>
      <Card title="Password" isPadded>
        <PasswordForm />
      </Card>
      <Suspense>
        <Sessions />
      </Suspense>
    </div>
  )
}

function ProfileForm() {
  const { fullName, email, username } = useUser()
  const rename = useApiMutation('user.update', {
    invalidates: ['user.get'],
    errorDisplay: 'caller',
    onSuccess: () => toast({ tone: 'good', title: 'Your name has been changed' }),
  })
  return (
    <FormShell
      schema={({ contract }) => contract.user.update.body}
      values={{ fullName }}
      onSubmit={(body) => rename.mutate({ body })}
      pending={rename.isPending}
      submitError={rename.error}
      submitLabel="Save"
    >
      {({ field }) => (
        <>
          <TextField label="Full name" autoComplete="name" className="max-w-100" {...field('fullName')} />
          <TextField
            label="Email"
            value={email || username}
            readOnly
            description="The email cannot be changed."
            className="max-w-100"
          />
        </>
      )}
    </FormShell>
  )
}
