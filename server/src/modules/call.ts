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
} from '@shoal/contract'
import type { Readable } from 'node:stream'
import type { z } from 'zod'

/** The caller: a user, by a session or an API token. */
export type Actor = {
  userId: number
  email: string
  fullName: string
  emailVerified: boolean
  sessionId: string | null
  apiTokenId: number | null
}

/** The organization of `{code}`, and the caller's role in it. Resolved before the handler runs. */
export type OrgScope = {
  id: number
  code: string
  name: string | null
  status: OrgStatus
  isPlayground: boolean
  squidsLimit: number
  roleType: RoleType
  roleId: number
}

/**
 * Reported by a handler that changed something; written to the audit log with user, time and address. Never a secret.
 * `userId` and `orgId` if the endpoint's access does not determine them.
 */
export type AuditNote = { subject?: string; before?: unknown; after?: unknown; userId?: number; orgId?: number }

export type Request = {
  id: string
  ip: string
  userAgent: string | null
  /** The request comes from this machine, without a proxy. */
  isLocal: boolean
  cookie: (name: string) => string | null
  /** Sets a cookie that scripts cannot read; null deletes it. */
  setCookie: (name: string, value: string | null, maxAgeMs: number) => void
  /** Aborted when the client disconnects. */
  signal: AbortSignal
  audit: (note: AuditNote) => void
  /**
   * For endpoints that are not one transaction, because they wait for others or keep writes when they refuse: runs `work` and writes
   * the audit reported until its end in one transaction. Other endpoints are one transaction as a whole.
   */
  inTransaction: <T>(work: () => Promise<T>) => Promise<T>
}

export type FileAnswer =
  | { redirect: string }
  | { contentType: string; body: string | Uint8Array | Readable; fileName?: string; headers?: Record<string, string> }

type ActorOf<A extends Access> = A extends 'public' ? Record<never, never> : { actor: Actor }
type OrgOf<A extends Access> = A extends 'public' | 'user' | 'verified' ? Record<never, never> : { org: OrgScope }
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
  ? FileAnswer
  : E['kind'] extends 'lines'
    ? AsyncIterable<z.input<E['payload']>[]>
    : PayloadInputOf<E>

export type Handler<E extends Endpoint> = (call: Call<E>) => Promise<ResultOf<E>>

/** A missing handler does not compile. */
export type Handlers<A extends Areas[string]> = { [Verb in keyof A]: Handler<A[Verb]> }
