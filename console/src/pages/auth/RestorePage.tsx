import { Link } from '@tanstack/react-router'
import { useApiMutation } from '../../api/mutation.ts'
import { OutboxHint } from '../../components/OutboxHint.tsx'
import { FormShell } from '../../components/FormShell.tsx'
import { Alert } from '../../ui/Alert.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { AuthHeading, textLinkClass } from './AuthHeading.tsx'

/** Requests a recovery email (spec 2.1, `/restore`). */
export default function RestorePage() {
  const restore = useApiMutation('auth.restore', { invalidates: [], errorDisplay: 'caller' })
  return (
    <>
      <AuthHeading title="Forgot password">Enter your email. We send you a link to set a new password.</AuthHeading>
      {restore.isSuccess ? (
        <>
          <Alert tone="good">A recovery email has been sent. Check your inbox.</Alert>
          <OutboxHint />
        </>
      ) : (
        <FormShell
          schema={({ contract }) => contract.auth.restore.body}
          values={{ email: '' }}
          onSubmit={(body) => restore.mutate({ body })}
          isPending={restore.isPending}
          submitError={restore.error}
          submitLabel="Send recovery email"
          warnsAboutUnsavedChanges={false}
          isWide
          size={36}
        >
          {({ field }) => (
            <TextField label="Work email" type="email" autoComplete="username" size={36} {...field('email')} />
          )}
        </FormShell>
      )}
      <p className="mt-6 text-ink-2">
        <Link to="/" search={(search) => search} className={textLinkClass}>
          Back to sign in
        </Link>
      </p>
    </>
  )
}
