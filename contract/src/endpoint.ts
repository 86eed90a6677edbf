import { z } from 'zod'
import type { Permission } from './permissions.ts'
import type { TokenScope } from './token-scope.ts'

/**
 * Who may call an endpoint. `user`: signed in. `verified`: signed in with a confirmed email. `member`: a member of the
 * organization in `{code}`, with a confirmed email. A permission: a member whose role has it. `operator`: a session of an
 * operator; for all other callers the endpoint does not exist. `operator.write`: like `operator`, if the user has
 * entered the password recently.
 */
export type Access = 'public' | 'user' | 'verified' | 'member' | 'operator' | 'operator.write' | Permission

/** The scope that an API token needs for a call; `session` means that API tokens are not accepted. */
export type Scope = TokenScope | 'session'

/**
 * The format of request and response. `json`: `{payload}`. `lines`: newline-delimited JSON arrays of `payload` items until the client
 * disconnects. `file`: bytes with their own content type. `upload`: like json, but the request is multipart with one file.
 */
export type Kind = 'json' | 'lines' | 'file' | 'upload'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

type ParamName<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamName<Rest> : never
type Shape = Record<string, z.ZodType>

export type Endpoint<
  P extends string = string,
  A extends Access = Access,
  K extends Kind = Kind,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  R extends z.ZodType = z.ZodType,
> = {
  method: Method
  /** Below `/api`, parameters in braces: `/v1/orgs/{code}/squids`. */
  path: P
  access: A
  kind: K
  summary: string
  params: z.ZodObject<Record<ParamName<P>, z.ZodType<string>>>
  query: Q
  body: B
  payload: R
  /** HTTP status of a successful response. The public client accepts only 200, 201 and 204. */
  status: 200 | 201
  /** Null for public endpoints, which need no credential. */
  scope: Scope | null
  /** Whether successful calls are written to the audit log: false for queries, including those that use `POST`. */
  isChange: boolean
  rateLimit: RateLimit | null
}

/** At most `calls` in `perMs` milliseconds per caller: per account if signed in, per IP address otherwise. */
export type RateLimit = { calls: number; perMs: number }

type Declaration<
  P extends string,
  A extends Access,
  K extends Kind,
  Q extends Shape,
  B extends z.ZodType,
  R extends z.ZodType,
> = {
  method: Method
  path: P
  access: A
  summary: string
  kind?: K
  query?: Q
  body?: B
  payload: R
  isChange?: false
  rateLimit?: RateLimit
} & (A extends 'public' ? { scope?: never } : { scope: Scope })

/**
 * Declares an endpoint. The server mounts it, the client calls it, and OpenAPI and the permission tests are generated from it.
 * On the wire, query parameters are strings; `urlOf` omits empty ones. `POST` and `DELETE` return 201, `GET` and `PUT` 200, like
 * SQD Cloud.
 */
export function endpoint<
  const P extends string,
  const A extends Access,
  R extends z.ZodType,
  const K extends Kind = 'json',
  // By default, an endpoint has no query parameters and no body.
  Q extends Shape = Record<never, never>,
  B extends z.ZodType = z.ZodUndefined,
>(declaration: Declaration<P, A, K, Q, B, R>): Endpoint<P, A, K, z.ZodObject<Q>, B, R> {
  const names = [...declaration.path.matchAll(/\{(\w+)\}/g)].map((m) => m[1] ?? '')
  const params = Object.fromEntries(names.map((name) => [name, z.string().min(1).max(200)]))
  return {
    method: declaration.method,
    path: declaration.path,
    access: declaration.access,
    kind: declaration.kind ?? ('json' as K),
    summary: declaration.summary,
    params: z.object(params) as unknown as Endpoint<P>['params'],
    query: queryOf(declaration.access, declaration.query ?? ({} as Q)),
    body: declaration.body ?? (z.undefined() as z.ZodType as B),
    payload: declaration.payload,
    status: declaration.method === 'POST' || declaration.method === 'DELETE' ? 201 : 200,
    scope: declaration.scope ?? null,
    isChange: declaration.isChange ?? declaration.method !== 'GET',
    rateLimit: declaration.rateLimit ?? null,
  }
}

/**
 * Rejects unknown parameters, since a misspelled one would otherwise be silently ignored. Public endpoints ignore them, because emails
 * link to these endpoints and email clients add parameters to links.
 */
function queryOf<Q extends Shape>(access: Access, shape: Q): z.ZodObject<Q> {
  if (access === 'public') return z.object(shape)
  const names = Object.keys(shape)
  const hint = names.length > 0 ? `Valid parameters: ${names.join(', ')}.` : 'This call has no parameters.'
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? `Unknown query parameter "${issue.keys.join('", "')}". ${hint}` : undefined,
  })
}

export type ParamsOf<E extends Endpoint> = z.output<E['params']>
export type QueryOf<E extends Endpoint> = z.output<E['query']>
export type BodyOf<E extends Endpoint> = z.output<E['body']>
export type PayloadOf<E extends Endpoint> = z.output<E['payload']>
/** The result of a handler, before the payload schema strips undeclared fields. */
export type PayloadInputOf<E extends Endpoint> = z.input<E['payload']>

/** Endpoints by area and name: `contract.squids.restart`. */
export type Areas = Record<string, Record<string, Endpoint>>

/** Returns each endpoint with its full name, such as `squids.restart`, in declaration order. */
export function endpointsOf(areas: Areas): [name: string, endpoint: Endpoint][] {
  return Object.entries(areas).flatMap(([area, endpoints]) =>
    Object.entries(endpoints).map(([name, declared]): [string, Endpoint] => [`${area}.${name}`, declared]),
  )
}

/** A list in the query string: `key[]=a&key[]=b`, `key=a`, or no such key for an empty list. */
export const ListOf = <T extends z.ZodType<unknown, string>>(item: T) =>
  z.preprocess((value) => (value === undefined ? [] : Array.isArray(value) ? value : [value]), z.array(item).max(200))

/** True if the endpoint exists only for operators. */
export const isForOperators = ({ access }: Pick<Endpoint, 'access'>): boolean =>
  access === 'operator' || access === 'operator.write'
