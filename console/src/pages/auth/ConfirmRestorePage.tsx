import type { EndedCredentials } from '@shoal/contract'
import { Link, useParams } from '@tanstack/react-router'
import { useApiMutation } from '../../api/mutation.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { countOf } from '../../lib/format.ts'
import { Alert } from '../../ui/Alert.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { AuthHeading, textLinkClass } from './AuthHeading.tsx'

/** Lets users who forgot their password set a new one (spec 2.1, `/restore/confirm/{token}`). */
export default function ConfirmRestorePage() {
  const { token } = useParams({ from: '/guest/restore/confirm/$token' })
  const change = useApiMutation('auth.confirmRestore', { invalidates: [], errorDisplay: 'caller' })
  if (change.isSuccess)
    return (
      <>
        <AuthHeading title="Create new password" />
        <Alert tone="good" title="Password has been changed">
          <EndedList ended={change.data.ended} />
          <Link to="/" className={textLinkClass}>
            Login
          </Link>
        </Alert>
      </>
    )
  return (
    <>
      <AuthHeading title="Create new password">This ends every session and API token of your account.</AuthHeading>
      <FormShell
        schema={({ newPasswordTwice }) => newPasswordTwice({})}
        values={{ password: '', confirmPassword: '' }}
        onSubmit={({ password }) => change.mutate({ body: { password, token } })}
        isPending={change.isPending}
        submitError={change.error}
        submitLabel="Change password"
        warnsAboutUnsavedChanges={false}
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

/** Lists the sessions, API tokens and OAuth providers that no longer give access to the account. */
function EndedList({ ended: { sessions, apiTokens, providers } }: { ended: EndedCredentials }) {
  return (
    <>
      <p>You are signed out everywhere{sessions > 0 && `: ${countOf(sessions, 'session')} ended`}.</p>
      {apiTokens.length > 0 && (
        <>
          <p className="mt-2">These API tokens no longer work. Create new ones for programs that need them:</p>
          <ul className="my-1 list-disc pl-5">
            {apiTokens.map(({ name, prefix }) => (
              <li key={name} className="break-words">
                {name} <code className="text-ink-2">{prefix}…</code>
              </li>
            ))}
          </ul>
        </>
      )}
      {providers.length > 0 && (
        <p className="mt-2">
          {providers.map((name) => providerNames[name]).join(' and ')} must confirm your email again at the next
          sign-in.
        </p>
      )}
    </>
  )
}

const providerNames = { google: 'Google', github: 'GitHub' }
