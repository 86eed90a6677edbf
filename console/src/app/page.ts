import type { QueryClient } from '@tanstack/react-query'
import { findOrg } from '../api/active-org.ts'
import type { Arrive, Prefetch } from '../api/prefetch.ts'
import { prefetch } from '../ui/prefetch.ts'
import { lazyPage } from './missing-code.ts'

type Component = Parameters<typeof lazyPage>[0] extends () => Promise<infer M> ? M[keyof M] : never

type LoaderContext<P> = {
  context: { queryClient: QueryClient }
  params: P
  location: { search: Record<string, unknown> }
  /** True if the user only hovers over a link to the page. */
  preload: boolean
}

type PageModule<P> = { default: Component; prefetch: Prefetch<P>; arrive?: Arrive }

/**
 * Returns the component and the loader of a route. The component is the default export of the module. The loader calls `prefetch` of the
 * module, and `arrive` if the module has it. The loader waits for the code of the page, but not for the data. If the code cannot be loaded,
 * the component reports the error. `parts` load code that the page shows immediately but that is in other chunks: it loads at the same time
 * as the page, instead of after it.
 */
export function page<P>(load: () => Promise<PageModule<P>>, ...parts: (() => Promise<unknown>)[]) {
  return {
    component: lazyPage(load, 'default'),
    // The parameter is `unknown`, so that the router infers the type of the path parameters from the path.
    loader: async (loaderContext: unknown) => {
      const { context, params, location, preload } = loaderContext as LoaderContext<P>
      const loading = load()
      for (const part of parts) prefetch(part)
      const module = await loading.catch(() => null)
      if (!preload) module?.arrive?.(location.search)
      const org = findOrg(context.queryClient)
      if (org) module?.prefetch({ client: context.queryClient, org, params, search: location.search })
    },
    // When only the query string changes, the components of the open page fetch the data that they need.
    shouldReload: ({ cause }: { cause: string }) => cause !== 'stay',
  }
}
