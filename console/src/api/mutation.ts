import { useMutation, useQueryClient, type QueryClient, type UseMutationResult } from '@tanstack/react-query'
import { useEffect, useEffectEvent } from 'react'
import { toast, unexpectedErrorTitle } from '../lib/toasts.ts'
import type { EndpointName } from './client.ts'
import { errorText } from './error-text.ts'
import { callApi, invalidate, type CallArgument, type Payload } from './query.ts'

type Options<N extends EndpointName> = {
  /**
   * Endpoints whose data the call changes. Their queries are refetched in the background. Only the session (`user.get`) is waited for,
   * because the routes and permissions of the next page depend on it. A call with `seeds` waits for no refetch.
   */
  invalidates: EndpointName[]
  /** Writes the response into cached queries with `seed`, so that the page shows it before the refetch. */
  seeds?: (client: QueryClient, payload: Payload<N>, call: CallArgument<N>) => void
  onSuccess?: (payload: Payload<N>, call: CallArgument<N>) => void | Promise<void>
  /** `toast`: the generic error toast of spec 8. `caller`: the form or dialog shows the error. */
  errorDisplay?: 'toast' | 'caller'
}

/** A call that changes data. Its declaration names the queries that it invalidates, so callers need not invalidate any. */
export function useApiMutation<N extends EndpointName>(
  name: N,
  { invalidates, seeds, onSuccess, errorDisplay = 'toast' }: Options<N>,
): UseMutationResult<Payload<N>, Error, CallArgument<N>> {
  const client = useQueryClient()
  return useMutation<Payload<N>, Error, CallArgument<N>>({
    mutationKey: [name],
    mutationFn: (call) => callApi(name, call),
    onSuccess: async (payload, call) => {
      seeds?.(client, payload, call)
      void invalidate(client, ...invalidates.filter((other) => other !== 'user.get'))
      const session = invalidates.includes('user.get') ? invalidate(client, 'user.get') : null
      if (!seeds) await session
      await onSuccess?.(payload, call)
    },
    onError: (error) => {
      if (errorDisplay === 'toast') toast({ tone: 'bad', title: unexpectedErrorTitle, message: errorText(error) })
    },
  })
}

/**
 * Sends the call once, when the component is first shown; not if it is null. For pages that a link or a sign-in provider opens. They do
 * not send the call in a loader, because the router runs loaders again when the session changes.
 */
export function useCallOnArrival<C>(
  { mutate, isIdle }: Pick<UseMutationResult<unknown, Error, C>, 'isIdle'> & { mutate: (call: C) => void },
  call: C | null,
): void {
  const send = useEffectEvent(() => call !== null && mutate(call))
  const isDue = isIdle && call !== null
  useEffect(() => {
    if (isDue) send()
  }, [isDue])
}
