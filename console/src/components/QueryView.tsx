import type { UseQueryResult } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { SkeletonRows } from '../ui/Skeleton.tsx'
import { ErrorState } from './ErrorState.tsx'

type FailableQuery<T> = Pick<UseQueryResult<T>, 'data' | 'error'> & {
  refetch: () => unknown
  /** How often a fetch of this query has failed. While it is zero, `lastError` belongs to the query with the previous key. */
  errorUpdateCount: number
}

type Props<T> = {
  query: FailableQuery<T>
  /** The subject of the error message: `The members` of `The members could not be loaded`. */
  what: string
  /** Shown while loading; should have the size of the loaded content. */
  skeleton?: ReactNode
  children: (data: T) => ReactNode
}

/**
 * Returns the error to show, and a function that retries. TanStack Query clears the error of a query without data when a refetch starts,
 * and a skeleton at each poll would flicker. So the error stays until an automatic refetch succeeds. `retry` clears the error, and the
 * skeleton shows while the query loads.
 */
export function useShownError<T>({ data, error, errorUpdateCount, refetch }: FailableQuery<T>) {
  const [lastError, setLastError] = useState<Error | null>(error)
  if (error && error !== lastError) setLastError(error)
  const retry = () => {
    setLastError(null)
    void refetch()
  }
  const shownError = error ?? (data === undefined && errorUpdateCount > 0 ? lastError : null)
  return [shownError, retry] as const
}

/** Renders a query as loading, failed or loaded. Loaded data stays on screen when a refetch fails. */
export function QueryView<T>({ query, what, skeleton, children }: Props<T>) {
  const { data } = query
  const [error, retry] = useShownError(query)
  if (data !== undefined) return <>{children(data)}</>
  if (error) return <ErrorState what={`${what} could not be loaded`} error={error} onRetry={retry} />
  return <>{skeleton ?? <SkeletonRows count={5} />}</>
}
