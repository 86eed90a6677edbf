import { permissions, whyNot, type Endpoint, type Permission } from '@shoal/contract'
import type { FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { notFound, refuse, unauthorized } from '../errors.ts'
import { authenticate } from '../modules/auth/index.ts'
import type { Actor, OrgScope } from '../modules/call.ts'
import { findMembership } from '../modules/orgs/index.ts'
import { limitRate } from './rate-limits.ts'

/**
 * Lets a call in as far as its endpoint's `access` says (design 7), and answers who calls and in which organization.
 * @throws Refusal 401 unknown caller; 404 not a member; 405 not allowed; 429 too many
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
    throw refuse('SESSION_NEEDED', 'This needs a person who is signed in; an API token is not enough.')
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
