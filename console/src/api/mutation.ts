import { useMutation, useQueryClient, type UseMutationResult } from '@tanstack/react-query'
import { toast, unexpectedErrorTitle } from '../lib/toasts.ts'
import type { EndpointName } from './client.ts'
import { errorText } from './error-text.ts'
import { callApi, invalidate, type CallArgument, type Payload } from './query.ts'

type Options<N extends EndpointName> = {
  /** Endpoints whose data the call changes. The mutation completes after their queries are refetched. */
  invalidates: EndpointName[]
  onSuccess?: (payload: Payload<N>, call: CallArgument<N>) => void | Promise<void>
  /** `toast`: the generic snackbar of spec 8. `caller`: the form or dialog shows the error. */
  errorDisplay?: 'toast' | 'caller'
}

/** A call that changes data. It declares which queries it invalidates, so callers need not. */
export function useApiMutation<N extends EndpointName>(
  name: N,
  { invalidates, onSuccess, errorDisplay = 'toast' }: Options<N>,
): UseMutationResult<Payload<N>, Error, CallArgument<N>> {
  const client = useQueryClient()
  return useMutation<Payload<N>, Error, CallArgument<N>>({
    mutationKey: [name],
    mutationFn: (call) => callApi(name, call),
    onSuccess: async (payload, call) => {
      await invalidate(client, ...invalidates)
      await onSuccess?.(payload, call)
    },
    onError: (error) => {
      if (errorDisplay === 'toast') toast({ tone: 'bad', title: unexpectedErrorTitle, message: errorText(error) })
    },
  })
}
