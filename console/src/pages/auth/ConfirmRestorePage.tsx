import { Link, useParams } from '@tanstack/react-router'
import { useApiMutation } from '../../api/mutation.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { AuthHeading, textLinkClass } from './AuthHeading.tsx'

/** Spec 2.1, `/restore/confirm/{token}`. */
export default function ConfirmRestorePage() {
  const { token } = useParams({ from: '/guest/restore/confirm/$token' })
  const change = useApiMutation('auth.confirmRestore', { invalidates: [], errorDisplay: 'caller' })
  if (change.isSuccess)
    return (
      <>
        <AuthHeading title="Create new password" />
        <Alert tone="good" title="Password has been changed">
          You are signed out everywhere.{' '}
          <Link to="/" className={textLinkClass}>
            Login
          </Link>
        </Alert>
      </>
    )
  return (
    <>
      <AuthHeading title="Create new password">This ends every session of your account.</AuthHeading>
      <FormShell
        schema={({ newPasswordTwice }) => newPasswordTwice({})}
        values={{ password: '', confirmPassword: '' }}
        onSubmit={({ password }) => change.mutate({ body: { password, token } })}
        pending={change.isPending}
        submitError={change.error}
        submitLabel="Change password"
        isGuarded={false}
        isWide
        size={36}
      >
        {({ field }) => (
          <>
            <TextField
              label="Create new password"
              type="password"
              autoComplete="new-password"
              description="At least 8 characters"
              size={36}
              {...field('password')}
            />
            <TextField
              label="Confirm password"
              type="password"
              autoComplete="new-password"
              size={36}
              {...field('confirmPassword')}
            />
          </>
        )}
      </FormShell>
    </>
  )
}
