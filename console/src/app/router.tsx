import type { QueryClient } from '@tanstack/react-query'
import { createRouter, type RouterHistory } from '@tanstack/react-router'
import { parseSearch, stringifySearch } from '../lib/search-params.ts'
import { report } from './error-reporting.ts'
import { PageError } from './Root.tsx'
import { PendingPage, type RouteParams } from './PendingPage.tsx'
import { routeTree } from './routes.ts'

/** Creates the console's router. `history` is for tests; by default, the router uses the browser's history. */
export function makeRouter(queryClient: QueryClient, history?: RouterHistory) {
  return createRouter({
    routeTree,
    context: { queryClient },
    ...(history && { history }),
    parseSearch,
    stringifySearch,
    // TanStack Query, not the router, decides when data is stale.
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    defaultPendingMs: 150,
    defaultPendingMinMs: 0,
    scrollRestoration: history === undefined,
    defaultErrorComponent: PageError,
    defaultPendingComponent: PendingPage,
    defaultOnCatch: report,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
  interface StaticDataRouteOption {
    /** The heading that is shown while the code of the page loads: of a page with its own heading, not of a tab below it. */
    title?: string | ((params: RouteParams) => string)
    /** Users with an unconfirmed email may open this route (spec 2.3). */
    isOpenToUnverified?: boolean
  }
}
