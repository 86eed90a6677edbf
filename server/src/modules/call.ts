import type {
  Access,
  Areas,
  BodyOf,
  Endpoint,
  OrgStatus,
  ParamsOf,
  PayloadInputOf,
  QueryOf,
  RoleType,
  TokenScope,
} from '@shoal/contract'
import type { Readable } from 'node:stream'
import type { z } from 'zod'

/** The caller: a user who is signed in by a session or an API token. */
export type Actor = {
  userId: number
  email: string
  fullName: string
  emailVerified: boolean
  /** Whether the user has proven access to the mailbox (`users.emailProvenAt`). */
  isEmailProven: boolean
  /** Whether the user may open the console of operators; see `Access`. */
  isOperator: boolean
  sessionId: string | null
  /** When the user last entered the password in this session; null for API tokens. */
  passwordAt: Date | null
  /** The organization that an operator may read as support in this session; null if there is none. */
  support: { orgId: number; until: Date } | null
  apiTokenId: number | null
  /** The scope of the API token; null for a session, which has all rights of its user. */
  tokenScope: TokenScope | null
  /** The only organization that the API token may access; null: all organizations of its user. */
  tokenOrgId: number | null
}

/** The organization that `{code}` in the path names, and the caller's role in it. Resolved before the handler runs. */
export type OrgScope = {
  id: number
  code: string
  name: string | null
  status: OrgStatus
  isPlayground: boolean
  squidsLimit: number
  /** At most `viewer` if the caller uses an API token with the scope `read`. */
  roleType: RoleType
  roleId: number
}

/**
 * Describes a change for the audit log, which adds the user, time and IP address. Must not contain secrets. Handlers set `userId` and
 * `orgIds` only if the endpoint's access does not determine them. Each of the organizations gets its own row.
 */
export type AuditEntry = {
  subject?: string
  before?: unknown
  after?: unknown
  userId?: number
  orgIds?: number[]
}

/** The data of a request that its handler receives, and the functions that act on the request. */
export type Request = {
  /** The id of the request in the log of the server, which an error response contains. */
  id: string
  ip: string
  userAgent: string | null
  cookie: (name: string) => string | null
  /** Sets a cookie that scripts cannot read; null deletes it. */
  setCookie: (name: string, value: string | null, maxAgeMs: number) => void
  /** Aborted when the client disconnects. */
  signal: AbortSignal
  audit: (entry: AuditEntry) => void
  /**
   * Runs `work` and writes the audit entries reported so far in one transaction. Only for endpoints that are not one transaction as a
   * whole, because they wait for external services or keep some writes when they deny the request.
   */
  inTransaction: <T>(work: () => Promise<T>) => Promise<T>
  /** Runs `work` when the handler's changes are committed; never if they are rolled back. For values in this process's memory. */
  afterCommit: (work: () => void) => void
}

/** The response of an endpoint of the kind `file`. */
export type FileResponse =
  | { redirect: string }
  | { contentType: string; body: string | Uint8Array | Readable; fileName?: string; headers?: Record<string, string> }

type ActorOf<A extends Access> = A extends 'public' ? Record<never, never> : { actor: Actor }
type OrgOf<A extends Access> = A extends 'public' | 'user' | 'verified' | 'operator' | 'operator.write'
  ? Record<never, never>
  : { org: OrgScope }
type FileOf<E extends Endpoint> = E['kind'] extends 'upload' ? { file: Readable } : Record<never, never>

/** Input of a handler: parsed parameters, and the caller and organization that the endpoint's `access` resolves. */
export type Call<E extends Endpoint> = {
  params: ParamsOf<E>
  query: QueryOf<E>
  body: BodyOf<E>
  request: Request
} & ActorOf<E['access']> &
  OrgOf<E['access']> &
  FileOf<E>

type ResultOf<E extends Endpoint> = E['kind'] extends 'file'
  ? FileResponse
  : E['kind'] extends 'lines'
    ? AsyncIterable<z.input<E['payload']>[]>
    : PayloadInputOf<E>

/** The function that implements an endpoint. */
export type Handler<E extends Endpoint> = (call: Call<E>) => Promise<ResultOf<E>>

/** The handlers of one area of the contract, by verb; a missing one is a compile-time error. */
export type Handlers<A extends Areas[string]> = { [Name in keyof A]: Handler<A[Name]> }
