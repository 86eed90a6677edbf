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

/** Who calls: a person, by a session or by an API token. */
export type Actor = {
  userId: number
  email: string
  fullName: string
  emailVerified: boolean
  sessionId: string | null
  apiTokenId: number | null
}

/** The organization of `{code}`, and what the caller is in it. Resolved before the handler runs. */
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
 * Said by a handler that changed something; written to the audit log with who, when and from where. Never a secret.
 * `userId` and `orgId` where the endpoint's access does not tell them.
 */
export type AuditNote = { subject?: string; before?: unknown; after?: unknown; userId?: number; orgId?: number }

export type Request = {
  id: string
  ip: string
  userAgent: string | null
  /** From this very machine, with no proxy in between. */
  isLocal: boolean
  cookie: (name: string) => string | null
  /** A cookie that scripts cannot read; null deletes it. */
  setCookie: (name: string, value: string | null, maxAgeMs: number) => void
  /** Aborted when the caller hangs up. */
  signal: AbortSignal
  audit: (note: AuditNote) => void
  /**
   * For endpoints that are no single transaction, since they wait for others or keep something when they refuse: `work` and the audit
   * row of what was said until its end are written together. Other endpoints are one transaction as a whole.
   */
  inTransaction: <T>(work: () => Promise<T>) => Promise<T>
}

export type FileAnswer =
  | { redirect: string }
  | { contentType: string; body: string | Uint8Array | Readable; fileName?: string; headers?: Record<string, string> }

type ActorOf<A extends Access> = A extends 'public' ? Record<never, never> : { actor: Actor }
type OrgOf<A extends Access> = A extends 'public' | 'user' | 'verified' ? Record<never, never> : { org: OrgScope }
type FileOf<E extends Endpoint> = E['kind'] extends 'upload' ? { file: Readable } : Record<never, never>

/** What a handler gets: parsed input, the caller and the organization as far as the endpoint's `access` names them. */
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

/** Leaving out a handler does not compile (examples C1). */
export type Handlers<A extends Areas[string]> = { [Verb in keyof A]: Handler<A[Verb]> }
