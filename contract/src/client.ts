import type { z } from 'zod'
import { ApiError, unknownApiError } from './api-error.ts'
import { ErrorBody } from './errors.ts'
import type { Areas, Endpoint, PayloadOf } from './endpoint.ts'
import { urlOf } from './url.ts'

export { urlOf } from './url.ts'

type CallPart<Name extends string, S extends z.ZodType> =
  z.input<S> extends undefined
    ? { [N in Name]?: undefined }
    : Record<never, never> extends z.input<S>
      ? { [N in Name]?: z.input<S> }
      : { [N in Name]: z.input<S> }

/** The arguments of a call: only the parts that the endpoint declares. A part whose fields are all optional is itself optional. */
export type CallOf<E extends Endpoint> = CallPart<'params', E['params']> &
  CallPart<'query', E['query']> &
  CallPart<'body', E['body']>

type Arguments<C> =
  Record<never, never> extends C ? [call?: C, options?: CallOptions] : [call: C, options?: CallOptions]

export type Caller<E extends Endpoint> = (...args: Arguments<CallOf<E>>) => Promise<PayloadOf<E>>
export type Client<A extends Areas> = { [Area in keyof A]: { [Name in keyof A[Area]]: Caller<A[Area][Name]> } }
export type CallOptions = { signal?: AbortSignal }

export type ClientOptions = {
  /** The URL of the API without `/v1`, such as `http://localhost:4000/api` or `/api`. */
  baseUrl: string
  /** Returns the bearer token, or null when signed out. Called before each request. */
  token?: () => string | null
  fetch?: typeof fetch
}

/** Returns one typed function per endpoint. They throw ApiError for every unsuccessful response (spec 7). */
export function createClient<A extends Areas>(areas: A, options: ClientOptions): Client<A> {
  const clients = Object.entries(areas).map(([area, endpoints]) => [
    area,
    Object.fromEntries(
      Object.entries(endpoints).map(([name, endpoint]) => [
        name,
        (call?: AnyCall, callOptions?: CallOptions) => send(endpoint, call ?? {}, options, callOptions),
      ]),
    ),
  ])
  return Object.fromEntries(clients) as Client<A>
}

type AnyCall = { params?: unknown; query?: unknown; body?: unknown }

/**
 * Returns the raw response of a call, for streams and files.
 * @throws {ApiError} if the response is not a success
 */
export async function request(
  endpoint: Endpoint,
  call: AnyCall,
  options: ClientOptions,
  { signal }: CallOptions = {},
): Promise<Response> {
  const token = options.token?.()
  const headers: Record<string, string> = { accept: 'application/json' }
  if (token) headers['authorization'] = `Bearer ${token}`
  if (call.body !== undefined) headers['content-type'] = 'application/json'
  const init: RequestInit = { method: endpoint.method, headers }
  if (call.body !== undefined) init.body = JSON.stringify(call.body)
  if (signal) init.signal = signal
  const response = await (options.fetch ?? fetch)(urlOf(endpoint, call, options.baseUrl), init)
  if (response.status >= 300) throw new ApiError(response.status, await errorBody(response))
  return response
}

async function send(
  endpoint: Endpoint,
  call: AnyCall,
  options: ClientOptions,
  callOptions?: CallOptions,
): Promise<unknown> {
  const response = await request(endpoint, call, options, callOptions)
  const body: unknown = await response.json()
  if (typeof body !== 'object' || body === null || !('payload' in body))
    throw new ApiError(response.status, { error: unknownApiError })
  return body.payload
}

async function errorBody(response: Response): Promise<ErrorBody> {
  const parsed = ErrorBody.safeParse(await response.json().catch(() => null))
  return parsed.success ? parsed.data : { error: unknownApiError }
}
