import { Outlet, useNavigate, useRouter, useSearch, type ErrorComponentProps } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ConfirmHost } from '../components/ConfirmHost.tsx'
import { ErrorState } from '../components/ErrorState.tsx'
import { toast, type Toast } from '../lib/toasts.ts'
import { TooltipHost } from '../ui/TooltipHost.tsx'
import { MaintenanceScreen } from './MaintenanceScreen.tsx'
import { Toasts } from './Toasts.tsx'
import { ServiceUnavailable } from './session-gate.ts'

/** The root of all pages. */
export function Root() {
  useEmailConfirmedToast()
  return (
    <>
      <Outlet />
      <TooltipHost />
      <ConfirmHost />
      <Toasts />
    </>
  )
}

/** Replaces everything: maintenance, or an error that no page caught. */
export function RootError({ error, ...rest }: ErrorComponentProps) {
  if (error instanceof ServiceUnavailable) return <MaintenanceScreen />
  return (
    <main className="mx-auto max-w-140 px-4 py-24">
      <PageError error={error} {...rest} />
    </main>
  )
}

const confirmed: Toast = { tone: 'good', title: 'Your email is confirmed.' }
const refused: Toast = {
  tone: 'warn',
  title: 'This confirmation link is no longer valid',
  message: 'Sign in and press Resend verification to get a new one.',
}

/** Links of confirmation emails open the console with `emailConfirmed`, on the sign-in page or in the app. */
function useEmailConfirmedToast(): void {
  const { emailConfirmed } = useSearch({ from: '__root__' })
  const navigate = useNavigate()
  useEffect(() => {
    if (emailConfirmed === undefined) return
    toast(emailConfirmed === 'true' ? confirmed : refused)
    // Show the toast once: a reload must not repeat it.
    void navigate({ to: '.', search: (search) => ({ ...search, emailConfirmed: undefined }), replace: true })
  }, [emailConfirmed, navigate])
}

/** Shown in place of a page that crashed; the rest of the console keeps working. */
export function PageError({ error, reset }: Pick<ErrorComponentProps, 'error' | 'reset'>) {
  const router = useRouter()
  const retry = async () => {
    reset()
    await router.invalidate()
  }
  return <ErrorState what="This page could not be shown" error={error} onRetry={() => void retry()} />
}
