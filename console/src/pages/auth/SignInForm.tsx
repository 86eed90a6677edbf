import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { submitErrorText } from '../../api/error-text.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { startSession } from '../../api/session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { textLinkClass } from './AuthHeading.tsx'

/** A form that signs users in with email and password. The page that contains the form reacts to the new session. */
export function SignInForm({ email = '' }: { email?: string }) {
  const queryClient = useQueryClient()
  const signIn = useApiMutation('auth.signIn', {
    invalidates: [],
    errorDisplay: 'caller',
    onSuccess: ({ token }) => startSession(queryClient, token),
  })
  return (
    <FormShell
      schema={({ contract }) => contract.auth.signIn.body}
      values={{ email, password: '' }}
      onSubmit={(body) => signIn.mutate({ body })}
      isPending={signIn.isPending}
      submitError={signIn.error}
      submitLabel="Sign in"
      describeError={submitErrorText}
      warnsAboutUnsavedChanges={false}
      isWide
      size={36}
    >
      {({ field }) => (
        <>
          <TextField label="Work email" type="email" autoComplete="username" size={36} {...field('email')} />
          <TextField
            label="Password"
            type="password"
            autoComplete="current-password"
            size={36}
            labelAction={
              <Link to="/restore" className={`text-sm ${textLinkClass}`}>
                Forgot password?
              </Link>
            }
            {...field('password')}
          />
        </>
      )}
    </FormShell>
  )
}
