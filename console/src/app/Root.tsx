import { Outlet, useRouter, type ErrorComponentProps } from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'
import { ConfirmHost } from '../components/ConfirmHost.tsx'
import { ErrorState } from '../components/ErrorState.tsx'
import { isMissingCode } from '../lib/lazy.tsx'
import { TooltipHost } from '../ui/TooltipHost.tsx'
import { MaintenanceScreen } from './MaintenanceScreen.tsx'
import { Toasts } from './Toasts.tsx'
import { ServiceUnavailable } from './session-gate.ts'
import { recoverMissingCode } from './missing-code.ts'

/** The root component: the current page, and the tooltips, confirmations and toasts that any page may show. */
export function Root() {
  return (
    <>
      <Outlet />
      <TooltipHost />
      <ConfirmHost />
      <Toasts />
    </>
  )
}

/** Shown instead of the whole app during maintenance, and after an error that no page caught. */
export function RootError({ error, ...rest }: ErrorComponentProps) {
  if (error instanceof ServiceUnavailable) return <MaintenanceScreen />
  return (
    <main className="mx-auto max-w-140 px-4 py-24">
      <PageError error={error} {...rest} />
    </main>
  )
}

/** Shown in place of a page that threw an error, or whose code could not be loaded. In the second case it retries when the server responds. */
export function PageError({ error, reset }: Pick<ErrorComponentProps, 'error' | 'reset'>) {
  const router = useRouter()
  const isCodeMissing = isMissingCode(error)
  const retry = async () => {
    // Starts loading the page's code again.
    await router.invalidate()
    reset()
  }
  // Returns the function that stops waiting.
  const waitAndRetry = useEffectEvent(() => recoverMissingCode(() => void retry()))
  useEffect(() => (isCodeMissing ? waitAndRetry() : undefined), [isCodeMissing, error])
  return (
    <ErrorState
      isPage
      what="This page could not be shown"
      {...(isCodeMissing && { text: 'It opens as soon as Shoal responds.' })}
      error={error}
      onRetry={() => void retry()}
    />
  )
}
