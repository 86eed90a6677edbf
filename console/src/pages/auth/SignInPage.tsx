import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useApiMutation } from '../../api/mutation.ts'
import { startSession } from '../../api/session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { AuthHeading, textLinkClass } from './AuthHeading.tsx'
import { submitErrorText } from '../../api/error-text.ts'
import { SocialButtons } from './SocialButtons.tsx'

/** Spec 2.1, `/`. The session gate redirects after signing in. */
export default function SignInPage() {
  const queryClient = useQueryClient()
  const signIn = useApiMutation('auth.signIn', {
    invalidates: [],
    errorDisplay: 'caller',
    onSuccess: ({ token }) => startSession(queryClient, token),
  })
  return (
    <>
      <AuthHeading title="Sign in">Host, watch and pay for your squids in one place.</AuthHeading>
      <FormShell
        schema={({ contract }) => contract.auth.signIn.body}
        values={{ email: '', password: '' }}
        onSubmit={(body) => signIn.mutate({ body })}
        pending={signIn.isPending}
        submitError={signIn.error}
        submitLabel="Sign in"
        describeError={submitErrorText}
        isGuarded={false}
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
      <SocialButtons verb="Sign in" />
      <p className="mt-6 text-ink-2">
        No account yet?{' '}
        <Link to="/signup" search={(search) => search} className={textLinkClass}>
          Create account
        </Link>
      </p>
    </>
  )
}
