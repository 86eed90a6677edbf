import { Link, useSearch } from '@tanstack/react-router'
import { AuthHeading, InvitationText, textLinkClass } from './AuthHeading.tsx'
import { SignInForm } from './SignInForm.tsx'
import { SocialButtons } from './SocialButtons.tsx'

/** The sign-in page (spec 2.1, `/`). The session gate redirects after the user has signed in. */
export default function SignInPage() {
  return (
    <>
      <AuthHeading title="Sign in">
        <InvitationText otherwise="Host, monitor and pay for your squids in one place." />
      </AuthHeading>
      <SignInForm email={useSearch({ from: '/guest' }).email ?? ''} />
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
