import type { z } from 'zod'
import { ApiError, unknownApiError } from './api-error.ts'
import { ErrorBody } from './errors.ts'
import type { Areas, Endpoint, PayloadOf } from './endpoint.ts'
import { urlOf } from './url.ts'

export { urlOf } from './url.ts'

type Given<Name extends string, S extends z.ZodType> =
  z.input<S> extends undefined
    ? { [N in Name]?: undefined }
    : Record<never, never> extends z.input<S>
      ? { [N in Name]?: z.input<S> }
      : { [N in Name]: z.input<S> }

/** What a caller gives: only the parts the endpoint declares, and each optional when all in it is. */
export type CallOf<E extends Endpoint> = Given<'params', E['params']> &
  Given<'query', E['query']> &
  Given<'body', E['body']>

type Arguments<C> =
  Record<never, never> extends C ? [call?: C, options?: CallOptions] : [call: C, options?: CallOptions]

export type Caller<E extends Endpoint> = (...args: Arguments<CallOf<E>>) => Promise<PayloadOf<E>>
export type Client<A extends Areas> = { [Area in keyof A]: { [Verb in keyof A[Area]]: Caller<A[Area][Verb]> } }
export type CallOptions = { signal?: AbortSignal }

export type ClientOptions = {
  /** Ends before `/v1`: `http://localhost:4000/api` or `/api`. */
  baseUrl: string
  /** Asked before each call. */
  token?: () => string | null
  fetch?: typeof fetch
}

/** One typed function an endpoint. Throws ApiError for whatever is not a success (spec 7). */
export function createClient<A extends Areas>(areas: A, options: ClientOptions): Client<A> {
  const clients = Object.entries(areas).map(([area, verbs]) => [
    area,
    Object.fromEntries(
      Object.entries(verbs).map(([verb, e]) => [
        verb,
        (call?: AnyCall, o?: CallOptions) => send(e, call ?? {}, options, o),
      ]),
    ),
  ])
  return Object.fromEntries(clients) as Client<A>
}

type AnyCall = { params?: unknown; query?: unknown; body?: unknown }

/** The raw answer of a call, for streams and files. Throws ApiError when it is not a success. */
export async function request(
  e: Endpoint,
  call: AnyCall,
  options: ClientOptions,
  o: CallOptions = {},
): Promise<Response> {
  const token = options.token?.()
  const headers: Record<string, string> = { accept: 'application/json' }
  if (token) headers['authorization'] = `Bearer ${token}`
  if (call.body !== undefined) headers['content-type'] = 'application/json'
  const init: RequestInit = { method: e.method, headers }
  if (call.body !== undefined) init.body = JSON.stringify(call.body)
  if (o.signal) init.signal = o.signal
  const answer = await (options.fetch ?? fetch)(urlOf(e, call, options.baseUrl), init)
  if (answer.status > 300) throw new ApiError(answer.status, await errorBody(answer))
  return answer
}

async function send(e: Endpoint, call: AnyCall, options: ClientOptions, o?: CallOptions): Promise<unknown> {
  const answer = await request(e, call, options, o)
  const body: unknown = await answer.json()
  if (typeof body !== 'object' || body === null || !('payload' in body))
    throw new ApiError(answer.status, { error: unknownApiError })
  return body.payload
}

async function errorBody(answer: Response): Promise<ErrorBody> {
  const parsed = ErrorBody.safeParse(await answer.json().catch(() => null))
  return parsed.success ? parsed.data : { error: unknownApiError }
}
