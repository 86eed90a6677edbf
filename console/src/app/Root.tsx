import { useQuery } from '@tanstack/react-query'
import { Outlet, useRouter, type ErrorComponentProps } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { sessionQuery } from '../api/session.ts'
import { ConfirmHost } from '../components/ConfirmHost.tsx'
import { TooltipHost } from '../ui/TooltipHost.tsx'
import { MaintenanceScreen } from './MaintenanceScreen.tsx'
import { PageError } from './PageError.tsx'
import { Unavailable } from './session-gate.ts'
import { Toasts } from './Toasts.tsx'

/** What every page has around it, and the place where a session that begins or ends changes the page. */
export function Root() {
  const router = useRouter()
  const status = useQuery(sessionQuery).data?.status
  const known = useRef(status)

  useEffect(() => {
    if (status === undefined || status === known.current) return
    if (known.current !== undefined) void router.invalidate()
    known.current = status
  }, [status, router])

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
