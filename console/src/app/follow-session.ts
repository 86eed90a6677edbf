import type { QueryClient } from '@tanstack/react-query'
import type { AnyRouter } from '@tanstack/react-router'
import { sessionQuery } from '../api/session.ts'

/** A session that begins, ends or is interrupted asks the gates of the routes again. */
export function followSession(queryClient: QueryClient, router: AnyRouter): void {
  const status = () => queryClient.getQueryData(sessionQuery.queryKey)?.status
  let known = status()
  queryClient.getQueryCache().subscribe(({ query }) => {
    const current = status()
    if (query.queryKey[0] !== sessionQuery.queryKey[0] || current === known) return
    const wasAsked = known !== undefined
    known = current
    if (wasAsked) void router.invalidate()
  })
}
