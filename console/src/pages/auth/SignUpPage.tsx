import { useQueryClient } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useApiMutation } from '../../api/mutation.ts'
import { startSession } from '../../api/session.ts'
import { FormShell } from '../../components/FormShell.tsx'
import { OutboxHint } from '../../components/OutboxHint.tsx'
import { TermsLink } from '../../components/TermsLink.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { AuthHeading, InvitationText, textLinkClass } from './AuthHeading.tsx'
import { BotCheck } from './BotCheck.tsx'
import { SocialButtons } from './SocialButtons.tsx'

/** Creates an account (spec 2.1, `/signup`). */
export default function SignUpPage() {
  const { email = '', turnstileInteractive } = useSearch({ from: '/guest/signup' })
  const queryClient = useQueryClient()
  const signUp = useApiMutation('auth.signUp', {
    invalidates: [],
    errorDisplay: 'caller',
    onSuccess: ({ token }) => startSession(queryClient, token),
  })
  return (
    <>
      <AuthHeading title="Create account">
        <InvitationText otherwise="One squid is free, with no time limit." />
      </AuthHeading>
      <FormShell
        schema={({ contract, z }) =>
          contract.auth.signUp.body.required({ subscribeToNewsletter: true }).extend({
            acceptPolicy: z.boolean().refine((isAccepted) => isAccepted, 'Field must be checked'),
          })
        }
        values={{
          fullName: '',
          email,
          password: '',
          turnstileToken: '',
          subscribeToNewsletter: false,
          acceptPolicy: false,
        }}
        onSubmit={(body) => signUp.mutate({ body: { ...body, policyAccepted: true } })}
        isPending={signUp.isPending}
        submitError={signUp.error}
        submitLabel="Create account"
        warnsAboutUnsavedChanges={false}
        isWide
        size={36}
        disabledReasonOf={({ turnstileToken }) => (turnstileToken === '' ? 'Please solve the bot check' : null)}
      >
        {({ field, form }) => (
          <>
            <TextField label="Full name" autoComplete="name" size={36} {...field('fullName')} />
            <TextField label="Work email" type="email" autoComplete="username" size={36} {...field('email')} />
            <TextField
              label="Password"
              type="password"
              autoComplete="new-password"
              description="At least 8 characters"
              size={36}
              {...field('password')}
            />
            <BotCheck
              isInteractive={turnstileInteractive !== undefined}
              onToken={(token) => form.setValue('turnstileToken', token)}
              // A token is valid for one attempt, so a failure needs a new one.
              attempt={signUp.failureCount + (signUp.isError ? signUp.submittedAt : 0)}
            />
            <Checkbox {...field('subscribeToNewsletter')}>
              Send me news about the product, 1-2 mails per quarter
            </Checkbox>
            <Checkbox {...field('acceptPolicy')}>
              I accept the <TermsLink />
            </Checkbox>
          </>
        )}
      </FormShell>
      <OutboxHint />
      <SocialButtons verb="Sign up" />
      <p className="mt-6 text-ink-2">
        Already have an account?{' '}
        <Link to="/" search={(search) => search} className={textLinkClass}>
          Sign in
        </Link>
      </p>
    </>
  )
}
