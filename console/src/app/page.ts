import type { QueryClient } from '@tanstack/react-query'
import { findOrg } from '../api/active-org.ts'
import type { Prefetch } from '../api/prefetch.ts'
import { lazyPage } from './missing-code.ts'

type Component = Parameters<typeof lazyPage>[0] extends () => Promise<infer M> ? M[keyof M] : never

type LoaderContext<P> = {
  context: { queryClient: QueryClient }
  params: P
  location: { search: Record<string, unknown> }
}

/**
 * The component and the loader of a route: the module's default export, and its `prefetch`. The loader waits for the code, not for the
 * data. If the code cannot be loaded, the component reports it.
 */
export function page<P>(load: () => Promise<{ default: Component; prefetch: Prefetch<P> }>) {
  return {
    component: lazyPage(load, 'default'),
    // Of an unknown type, so that the router infers the parameters from the path and not from this function.
    loader: async (loaderContext: unknown) => {
      const { context, params, location } = loaderContext as LoaderContext<P>
      const module = await load().catch(() => null)
      const org = findOrg(context.queryClient)
      if (org) module?.prefetch({ client: context.queryClient, org, params, search: location.search })
    },
    // When only the query string changes, the open page fetches what it needs itself.
    shouldReload: ({ cause }: { cause: string }) => cause !== 'stay',
  }
}
