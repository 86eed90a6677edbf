import { permissions, whyNot, type Endpoint, type Permission } from '@shoal/contract'
import type { FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { notFound, refuse, unauthorized } from '../errors.ts'
import { addressBlock, authenticate, consume } from '../modules/auth/index.ts'
import type { Actor, OrgScope } from '../modules/call.ts'
import { findMembership } from '../modules/orgs/index.ts'

/**
 * Authenticates and authorizes a request by the `access` of its endpoint. Returns the caller and the organization.
 * @throws Refusal 401 if the caller is unknown, 404 if not a member, 405 if not allowed, 429 after too many requests
 */
export async function admit(
  app: App,
  name: string,
  e: Endpoint,
  request: FastifyRequest,
): Promise<{ actor?: Actor; org?: OrgScope }> {
  if (e.access === 'public') {
    await limitRate(app, name, e, request.ip)
    return {}
  }
  const actor = await authenticate(app, request.headers.authorization)
  if (!actor) throw unauthorized()
  await limitRate(app, name, e, request.ip, actor)
  if (e.needsSession && !actor.sessionId)
    throw refuse('SESSION_NEEDED', 'This needs a signed-in user; an API token is not enough.')
  if (e.access === 'user') return { actor }
  if (!actor.emailVerified) throw refuse('EMAIL_NOT_VERIFIED', 'Please, confirm your email.')
  if (e.access === 'verified') return { actor }
  const { code } = request.params as { code: string }
  const org = await findMembership(app.db, code.toLowerCase(), actor.userId)
  if (!org) throw notFound('Organization')
  if (isPermission(e.access)) {
    const reason = whyNot(org, e.access)
    if (reason) throw refuse('NOT_ALLOWED', reason)
  }
  return { actor, org }
}

const isPermission = (access: string): access is Permission => (permissions as string[]).includes(access)

/**
 * Counts a request against the rate limit of the endpoint: by user if known, since an office may share an address, otherwise by
 * address.
 * @throws Refusal 429 with the time to wait
 */
async function limitRate(app: App, name: string, e: Endpoint, ip: string, actor?: Actor): Promise<void> {
  if (!e.rateLimit) return
  const caller = actor ? `user:${actor.userId}` : `address:${addressBlock(ip)}`
  await consume(app, `call:${name}:${caller}`, e.rateLimit)
}
