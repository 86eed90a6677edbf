import type { Org } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'

/** The values that the queries of a page depend on. `search` contains the unvalidated parameters of the query string. */
export type PageContext<P = unknown> = {
  client: QueryClient
  org: Org
  params: P
  search: Record<string, unknown>
}

/**
 * Starts the queries that a page reads first, and does not wait for them. A page exports it as `prefetch`; the router calls it when
 * the user hovers over or follows a link to the page, so that the data loads before the page renders.
 */
export type Prefetch<P = unknown> = (context: PageContext<P>) => void

/**
 * Handles a parameter of the query string that an email's link contains, when the user opens the page, and throws a redirect to the page
 * without the parameter. A page exports it as `arrive`.
 */
export type Arrive = (search: Record<string, unknown>) => void
