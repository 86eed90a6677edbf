import type { QueryClient } from '@tanstack/react-query'
import { createRouter, type RouterHistory } from '@tanstack/react-router'
import { parseSearch, stringifySearch } from '../lib/search-params.ts'
import { report } from './error-reporting.ts'
import { PageError } from './Root.tsx'
import { PageSkeleton } from './layouts/Frame.tsx'
import { routeTree } from './routes.ts'

/** `history` is for tests. */
export function makeRouter(queryClient: QueryClient, history?: RouterHistory) {
  return createRouter({
    routeTree,
    context: { queryClient },
    ...(history && { history }),
    parseSearch,
    stringifySearch,
    // TanStack Query decides when data is stale, not the router.
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    defaultPendingMs: 150,
    defaultPendingMinMs: 0,
    scrollRestoration: history === undefined,
    defaultErrorComponent: PageError,
    defaultPendingComponent: PageSkeleton,
    defaultOnCatch: report,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
  interface StaticDataRouteOption {
    /** Users with an unconfirmed email may open this route (spec 2.3). */
    isOpenToUnverified?: boolean
  }
}
