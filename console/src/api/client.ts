import { ApiError, unknownApiError, urlOf, type Contract, type Endpoint, type ErrorBody } from '@shoal/contract'
import { getSetting } from '../lib/local-settings.ts'
import type { EndpointPaths, NotCalled } from './endpoint-paths.ts'
import { takeEarlyResponse } from './early-responses.ts'
import { endpoints } from './endpoints.ts'

type Area = keyof Contract
type VerbOf<A extends Area> = Extract<keyof Contract[A], string>

/** The name of an endpoint, such as `squids.list`; also the first element of its query keys. */
export type EndpointName = Exclude<{ [A in Area]: `${A}.${VerbOf<A>}` }[Area], NotCalled>

type EndpointIn<A extends Area, V> = V extends keyof Contract[A] ? Extract<Contract[A][V], Endpoint> : never
export type EndpointOf<N extends EndpointName> = N extends `${infer A extends Area}.${infer V}`
  ? EndpointIn<A, V>
  : never

/** The input of a call: the parameters of the path, those of the query string, and the body. */
export type Call = { params?: unknown; query?: unknown; body?: unknown }

/** Adds endpoints whose code loads later than the first view. */
export function addEndpoints(more: EndpointPaths): void {
  for (const area in more) endpoints[area] = { ...endpoints[area], ...more[area] }
}

function endpointOf(name: EndpointName) {
  const [area = '', verb = ''] = name.split('.')
  const [path, method = 'GET'] = endpoints[area]?.[verb]?.replace('~', 'orgs/{code}').split(' ') ?? []
  if (!path) throw new Error(`No endpoint ${name}`)
  const isPublic = path.startsWith('!')
  return { method: method as Endpoint['method'], path: `/v1/${isPublic ? path.slice(1) : path}`, isPublic }
}

/** True if the endpoint needs no session. */
export const isPublic = (name: EndpointName): boolean => endpointOf(name).isPublic

/**
 * Sends a request and returns the unread response, for streams and files. Throws ApiError for statuses above 300 (spec 7), and the
 * browser's error if no response arrives.
 */
export async function open(name: EndpointName, call: Call, signal?: AbortSignal): Promise<Response> {
  const response = await request(name, call, signal)
  if (response.status > 300) throw new ApiError(response.status, await errorBody(response))
  return response
}

function request(name: EndpointName, call: Call, signal?: AbortSignal, tag?: string): Promise<Response> {
  const endpoint = endpointOf(name)
  const token = getSetting('user_token')
  const url = urlOf(endpoint, call, '/api')
  const early = endpoint.method === 'GET' ? takeEarlyResponse(url, token) : undefined
  if (early) return early
  return fetch(url, {
    method: endpoint.method,
    headers: {
      accept: 'application/json',
      ...(token !== null && !endpoint.isPublic && { authorization: `Bearer ${token}` }),
      ...(call.body !== undefined && { 'content-type': 'application/json' }),
      ...(tag && { 'if-none-match': tag }),
    },
    ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
    ...(signal && { signal }),
  })
}

/** The maximum number of cached responses, which is more than any page polls. */
const maxCached = 30
/** The last payload of each call with its ETag, newest last. */
const cached = new Map<string, { tag: string; payload: unknown }>()

/**
 * Sends a request and returns the payload of its response; `query.ts` and `mutation.ts` add the type. If the response is the same as for
 * the previous equal call, the server sends no body, and `send` returns the same object again. Throws the same errors as `open`.
 */
export async function send(name: EndpointName, call: Call, signal?: AbortSignal): Promise<unknown> {
  const key = JSON.stringify([name, call])
  const last = cached.get(key)
  const response = await request(name, call, signal, last?.tag)
  if (last && response.status === 304) return last.payload
  if (response.status > 300) throw new ApiError(response.status, await errorBody(response))
  const body: unknown = await response.json()
  if (typeof body !== 'object' || body === null || !('payload' in body))
    throw new ApiError(response.status, { error: unknownApiError })
  const tag = response.headers.get('etag')
  cached.delete(key)
  if (tag) cached.set(key, { tag, payload: body.payload })
  if (cached.size > maxCached) cached.delete(cached.keys().next().value ?? '')
  return body.payload
}

/** Deletes the cached responses of the previous user. */
export const clearResponses = (): void => cached.clear()

async function errorBody(response: Response): Promise<ErrorBody> {
  const body: unknown = await response.json().catch(() => null)
  const hasMessage = typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string'
  return hasMessage ? (body as ErrorBody) : { error: unknownApiError }
}
