import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute } from '@tanstack/react-router'
import { Frame } from '../layouts/Frame.tsx'
import { Root, RootError } from '../Root.tsx'
import { search } from '../search.ts'
import { requireSignedIn } from '../session-gate.ts'
import { lazyPage } from '../missing-code.ts'

/** The parent of all routes. */
export const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Root,
  errorComponent: RootError,
})

/** The parent of all pages for signed-in users. */
export const app = createRoute({
  getParentRoute: () => root,
  id: 'app',
  validateSearch: search.app,
  component: lazyPage(() => import('../layouts/AppLayout.tsx')),
  errorComponent: RootError,
  pendingComponent: Frame,
  pendingMs: 0,
  beforeLoad: ({ context, search }) =>
    requireSignedIn(context.queryClient, search.acceptInviteId ? undefined : search.organization),
})
