import { Outlet, type ErrorComponentProps } from '@tanstack/react-router'
import { ConfirmHost } from '../components/ConfirmHost.tsx'
import { TooltipHost } from '../ui/TooltipHost.tsx'
import { MaintenanceScreen } from './MaintenanceScreen.tsx'
import { PageError } from './PageError.tsx'
import { Unavailable } from './session-gate.ts'
import { Toasts } from './Toasts.tsx'
import { useEmailConfirmedToast } from './use-email-confirmed-toast.ts'

/** What every page has around it. */
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

/** In place of everything: maintenance, or a failure that no page caught. */
export function RootError({ error, ...rest }: ErrorComponentProps) {
  if (error instanceof Unavailable) return <MaintenanceScreen />
  return (
    <main className="mx-auto max-w-140 px-4 py-24">
      <PageError error={error} {...rest} />
    </main>
  )
}
