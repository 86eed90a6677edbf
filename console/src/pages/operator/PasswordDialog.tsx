import { useApiMutation } from '../../api/mutation.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/TextField.tsx'

type Props = { hasPassword: boolean; onEntered: () => void; onClose: () => void }

/** Lets the operator enter the password before a change. If the account has no password, the dialog explains how to set one. */
export function PasswordDialog({ hasPassword, onEntered, onClose }: Props) {
  const enter = useApiMutation('operators.confirmPassword', {
    invalidates: ['operators.getAccess'],
    errorDisplay: 'caller',
    onSuccess: () => {
      onClose()
      onEntered()
    },
  })
  if (!hasPassword)
    return (
      <LazyDialog
        title="Set a password first"
        isOpen
        onClose={onClose}
        footer={<Button onClick={onClose}>Close</Button>}
      >
        <p>
          Changes need a password, and your account has none. Sign out, choose “Forgot password” on the sign-in page,
          and sign in with the new password.
        </p>
      </LazyDialog>
    )
  return (
    <LazyDialog title="Enter your password" isOpen onClose={onClose}>
      <FormShell
        schema={({ contract }) => contract.operators.confirmPassword.body}
        values={{ password: '' }}
        onSubmit={(body) => enter.mutate({ body })}
        isPending={enter.isPending}
        submitError={enter.error}
        submitLabel="Continue"
        warnsAboutUnsavedChanges={false}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        {({ field }) => (
          <TextField
            label="Password"
            type="password"
            description="Changes in the operator's console need your password, at most once every ten minutes."
            autoComplete="current-password"
            {...field('password')}
          />
        )}
      </FormShell>
    </LazyDialog>
  )
}
