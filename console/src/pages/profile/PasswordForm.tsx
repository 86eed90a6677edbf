import { useState } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { toast } from '../../lib/toasts.ts'
import { TextField } from '../../ui/TextField.tsx'

const empty = { oldPassword: '', password: '', confirmPassword: '' }

/** Changing the password ends the other sessions. */
export function PasswordForm() {
  const [changed, setChanged] = useState(0)
  const change = useApiMutation('user.changePassword', {
    invalidates: ['user.listSessions'],
    errorDisplay: 'caller',
    onSuccess: () => {
      setChanged((count) => count + 1)
      toast({ tone: 'good', title: 'Password has been changed', message: 'Other sessions have been signed out.' })
    },
  })
  return (
    <FormShell
      // Reset the form after a success.
      key={changed}
      schema={({ contract, newPasswordTwice }) =>
        newPasswordTwice({ oldPassword: contract.user.changePassword.body.shape.oldPassword })
      }
      values={empty}
      onSubmit={({ oldPassword, password }) => change.mutate({ body: { oldPassword, newPassword: password } })}
      pending={change.isPending}
      submitError={change.error}
      submitLabel="Change password"
    >
      {({ field }) => (
        <>
          <TextField
            label="Current password"
            type="password"
            autoComplete="current-password"
            className="max-w-100"
            {...field('oldPassword')}
          />
          <TextField
            label="New password"
            type="password"
            autoComplete="new-password"
            description="At least 8 characters"
            className="max-w-100"
            {...field('password')}
          />
          <TextField
            label="Confirm password"
            type="password"
            autoComplete="new-password"
            className="max-w-100"
            {...field('confirmPassword')}
          />
        </>
      )}
    </FormShell>
  )
}
