import type { Org } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'

/** What the queries of a page depend on. `search` has the unvalidated parameters of the query string. */
export type PageContext<P = unknown> = {
  client: QueryClient
  org: Org
  params: P
  search: Record<string, unknown>
}

/**
 * Starts the queries that a page reads first, and does not wait for them. A page exports it as `prefetch`; the router calls it when
 * a link to the page is hovered or followed, so that the data loads while the page is not rendered yet.
 */
export type Prefetch<P = unknown> = (context: PageContext<P>) => void
