import { permissions, reasonDenied, type Endpoint, type Permission } from '@shoal/contract'
import type { FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { notFound, refuse, unauthorized } from '../errors.ts'
import { authenticate, limitCalls, requireTokenRights, roleWith } from '../modules/auth/index.ts'
import type { Actor, OrgScope } from '../modules/call.ts'
import { findMembership } from '../modules/orgs/index.ts'

/**
 * Authenticates and authorizes a request according to the `access` and `scope` of its endpoint. Returns the caller and the organization.
 * @throws Refusal 401 if the caller is unknown, 404 if not a member, 405 if not allowed, 429 after too many requests
 */
export async function admit(
  app: App,
  name: string,
  endpoint: Endpoint,
  request: FastifyRequest,
): Promise<{ actor?: Actor; org?: OrgScope }> {
  if (endpoint.access === 'public') {
    if (endpoint.rateLimit) await limitCalls(app, name, endpoint.rateLimit, { ip: request.ip })
    return {}
  }
  const actor = await authenticate(app, request.headers.authorization)
  if (!actor) throw unauthorized()
  if (endpoint.rateLimit) await limitCalls(app, name, endpoint.rateLimit, { ip: request.ip, userId: actor.userId })
  requireTokenRights(endpoint, actor)
  if (endpoint.access === 'user') return { actor }
  if (!actor.emailVerified) throw refuse('EMAIL_NOT_VERIFIED', 'Please, confirm your email.')
  if (endpoint.access === 'verified') return { actor }
  const { code } = request.params as { code: string }
  const membership = await findMembership(app.db, code.toLowerCase(), actor.userId)
  const isTokenAllowed = actor.tokenOrgId === null || actor.tokenOrgId === membership?.id
  if (!membership || !isTokenAllowed) throw notFound('Organization')
  const org = { ...membership, roleType: roleWith(actor, membership.roleType) }
  if (isPermission(endpoint.access)) {
    const reason = reasonDenied(org, endpoint.access)
    if (reason) throw refuse('NOT_ALLOWED', reason)
  }
  return { actor, org }
}

const isPermission = (access: string): access is Permission => (permissions as string[]).includes(access)
