import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { SkeletonRows } from '../ui/Skeleton.tsx'
import { ErrorState } from './ErrorState.tsx'

type Props<T> = {
  query: Pick<UseQueryResult<T>, 'data' | 'error' | 'refetch'>
  /** The subject of the error message: `The members` of `The members could not be loaded`. */
  what: string
  /** Shown while loading; should have the size of the loaded content. */
  skeleton?: ReactNode
  children: (data: T) => ReactNode
}

/** Renders a query as loading, failed or loaded. Loaded data stays on screen when a refetch fails. */
export function QueryView<T>({ query, what, skeleton, children }: Props<T>) {
  const { data, error, refetch } = query
  if (data !== undefined) return <>{children(data)}</>
  if (error) return <ErrorState what={`${what} could not be loaded`} error={error} onRetry={() => void refetch()} />
  return <>{skeleton ?? <SkeletonRows count={5} />}</>
}
