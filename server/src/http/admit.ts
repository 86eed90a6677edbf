import { isForOperators, permissions, reasonDenied, type Endpoint, type Permission } from '@shoal/contract'
import type { FastifyRequest } from 'fastify'
import { addressBlock } from '../address-block.ts'
import type { App } from '../app.ts'
import { inBackground, setAdmissionOwner, withRequestTimeouts } from '../db/query-timeouts.ts'
import { isUnavailable } from '../db/unavailable.ts'
import { notFound, refuse, Refusal, unauthorized } from '../errors.ts'
import { authenticate, limitCalls, operatorAuth, tokenRights } from '../modules/auth/index.ts'
import type { Actor, OrgScope } from '../modules/call.ts'
import { findMembership, findSupported } from '../modules/orgs/index.ts'
import { isForSupport } from './support.ts'
import { rejectUnstorable } from './unstorable.ts'

/**
 * Authenticates and authorizes a request according to the `access` and `scope` of its endpoint. Returns the caller and the organization.
 * `name`: the full name of the endpoint, such as `squids.get`.
 * @throws Refusal 400 for parameters that Postgres cannot store, 401 if the caller is unknown, 404 if the caller is not a member, 405 if
 * the call is not allowed, 429 after too many requests
 */
export async function admit(
  app: App,
  name: string,
  endpoint: Endpoint,
  request: FastifyRequest,
): Promise<{ actor?: Actor; org?: OrgScope }> {
  setAdmissionOwner(addressBlock(request.ip))
  if (endpoint.access === 'public') {
    if (endpoint.rateLimit) await limitCalls(app, name, endpoint.rateLimit, { ip: request.ip })
    return {}
  }
  const actor = await authenticate(app, request.headers.authorization)
  if (isForOperators(endpoint)) return { actor: await admitOperator(app, name, endpoint, request, actor) }
  if (!actor) throw unauthorized()
  if (endpoint.rateLimit) await limitCalls(app, name, endpoint.rateLimit, { ip: request.ip, userId: actor.userId })
  tokenRights.requireTokenRights(endpoint, actor)
  if (endpoint.access === 'user') return { actor }
  if (!actor.emailVerified) throw refuse('EMAIL_NOT_VERIFIED', 'Please, confirm your email.')
  if (endpoint.access === 'verified') return { actor }
  rejectUnstorable(request.params)
  const { code } = request.params as { code: string }
  const membership =
    (await findMembership(app.db, code.toLowerCase(), actor.userId)) ?? (await findSupport(app, name, code, actor))
  const isTokenAllowed = actor.tokenOrgId === null || actor.tokenOrgId === membership?.id
  if (!membership || !isTokenAllowed) throw notFound('Organization')
  const org = { ...membership, roleType: tokenRights.roleWith(actor, membership.roleType) }
  if (isPermission(endpoint.access)) {
    const reason = reasonDenied(org, endpoint.access)
    if (reason) throw refuse('NOT_ALLOWED', reason)
  }
  return { actor, org }
}

/**
 * Admits a caller whom `admit` admitted before the body arrived, which may be minutes ago: since then, the session or the access as an
 * operator may have ended. Does not count the request again.
 */
export const readmit: typeof admit = (app, name, endpoint, request) =>
  admit(app, name, { ...endpoint, rateLimit: null }, request)

/** Whether `readmit` admits the caller. True while the database does not respond, so that an outage ends no stream. */
export async function isStillAdmitted(...args: Parameters<typeof admit>): Promise<boolean> {
  try {
    // As at the start of the request, its owner's share of the connections does not apply.
    await inBackground(() => withRequestTimeouts(() => readmit(...args)))
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    if (isUnavailable(error)) return true
    throw error
  }
}

/** Returns the organization that the operator reads as support; null if it has another code, or if the caller reads none. @throws Refusal 405 for endpoints that support may not call */
async function findSupport(app: App, name: string, code: string, { support }: Actor): Promise<OrgScope | null> {
  const org = support && (await findSupported(app.db, code.toLowerCase(), support.orgId))
  if (org && !isForSupport(name))
    throw refuse('SUPPORT', 'Support can only read, and sees no credentials, secrets or exports.')
  return org
}

/** @throws Refusal 404, as for an unknown path, unless the caller is an operator with a session; 405 if the password must be entered first */
async function admitOperator(
  app: App,
  name: string,
  { access, rateLimit }: Endpoint,
  request: FastifyRequest,
  actor: Actor | null,
): Promise<Actor> {
  if (!actor?.isOperator || !actor.emailVerified || actor.sessionId === null) throw unknownPath(request)
  if (rateLimit) await limitCalls(app, name, rateLimit, { ip: request.ip, userId: actor.userId })
  if (access === 'operator.write' && !operatorAuth.passwordUntil(actor, app.clock.now()))
    throw refuse('PASSWORD_NEEDED', 'Enter your password again to change this.')
  return actor
}

/** The response to a path that does not exist. The public client takes "Cannot <method>" to mean that the endpoint does not exist. */
export const unknownPath = ({ method, url }: Pick<FastifyRequest, 'method' | 'url'>): Refusal =>
  new Refusal(404, 'NOT_FOUND', `Cannot ${method} ${url.split('?')[0]}`)

const isPermission = (access: string): access is Permission => (permissions as string[]).includes(access)
