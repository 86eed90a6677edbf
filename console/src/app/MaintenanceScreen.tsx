import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { sessionQuery } from '../api/session.ts'
import { Logo } from '../ui/Logo.tsx'

const retryMs = 15_000

/** Shown while the request for the session returns 503 (spec 1 and 2.1). Disappears when the server is available again. */
export function MaintenanceScreen() {
  const queryClient = useQueryClient()
  const router = useRouter()

  useEffect(() => {
    document.title = 'Maintenance · Shoal'
    const timer = setInterval(async () => {
      await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => null)
      if (queryClient.getQueryData(sessionQuery.queryKey)?.status !== 'unavailable') await router.invalidate()
    }, retryMs)
    return () => clearInterval(timer)
  }, [queryClient, router])

  return (
    <main className="grid min-h-dvh place-items-center px-4">
      <div className="max-w-110 text-center text-balance">
        <Logo size={40} className="mx-auto mb-6 text-accent" />
        <h1 className="text-xl font-semibold">We'll be back</h1>
        <p className="mt-2 text-ink-2">We're busy updating the cloud for you, please check back soon.</p>
        <p className="mt-6 text-sm text-ink-3">Your squids keep running. This page reloads automatically.</p>
      </div>
    </main>
  )
}
