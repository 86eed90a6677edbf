import multipart from '@fastify/multipart'
import {
  contract,
  endpoint,
  endpointsOf,
  isForOperators,
  type Access,
  type Endpoint,
  type Permission,
  type Scope,
  type TokenScope,
} from '@shoal/contract'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { hours } from '../clock.ts'
import { Refusal } from '../errors.ts'
import type { Actor, Handler, OrgScope } from '../modules/call.ts'
import { startTestApp, type TestApp, type TestOrg, type TestUser } from '../testing/index.ts'
import { acceptEmptyForms } from './app.ts'
import { bodyReaders } from './read-body.ts'
import { errorBody, mount } from './mount.ts'
import { bodySamples, querySamples, requestFor } from '../testing/contract-samples.ts'

/** The permissions of spec 6 and later ones, repeated here so that a change of the server's table is detected. */
const memberPermissions = {
  admin: [
    'squids.write',
    'credentials.read',
    'billing.write',
    'role.write',
    'organization.write',
    'secrets.write',
    'rpc.write',
    'alerts.write',
  ],
  developer: ['squids.write', 'credentials.read'],
  viewer: [],
  'owner of the playground': ['squids.write', 'credentials.read', 'secrets.write', 'alerts.write'],
} satisfies Record<string, Permission[]>

/**
 * The endpoints of each access level according to spec 6. The table is independent of the declarations, so that an endpoint declared
 * with too little access control is detected. Endpoints for which the specification names no permission are open to every member
 * (viewers may see all pages and change nothing). Permissions that are not in the specification are marked.
 */
const endpointsByAccess: Record<Access, string> = {
  public: `auth.getOptions auth.getChallenge auth.signUp auth.signIn auth.getOauthUrl auth.signInWithOauth auth.restore
    auth.confirmRestore auth.openConfirmation orgs.verifyEmail orgs.openVerification billing.getPrices rpc.getIcon`,
  user: `auth.signOut auth.confirmEmail user.get user.update user.completeOnboarding user.changePassword user.resendConfirmation
    user.listSessions user.endSessions`,
  // For unverified users, the console is disabled.
  verified: `user.listInvites user.listApiTokens user.createApiToken user.deleteApiToken orgs.list orgs.create
    orgs.acceptInvite orgs.rejectInvite squids.listMine`,
  // "Remove user" is for administrators and "Leave organization" for every member; the endpoint checks whose role it is.
  member: `orgs.get orgs.listRoles orgs.removeMember orgs.getQuotas squids.list squids.listSummaries squids.get squids.query
    deployments.list deployments.get logs.history logs.download logs.follow metrics.getIngress metrics.getSquidIngress
    metrics.getSquidUsage monitoring.scrape monitoring.query secrets.list secrets.listUses rpc.listChains rpc.getChain
    portal.listDatasets portal.getDataset billing.getReceipt billing.exportReceipts billing.listInvoices billing.getInvoice
    billing.getSummary billing.getSquidCost billing.estimate billing.getLimits alerts.list alerts.listRules alerts.listMutes
    alerts.listChannels alerts.listDeliveries statusPage.get statusPage.listIncidents domains.list`,
  'squids.write': `squids.deploy squids.restart squids.hibernate squids.rollback squids.delete squids.setTag squids.removeTag
    deployments.createUpload deployments.upload deployments.getChanges alerts.mute alerts.unmute statusPage.createIncident statusPage.changeIncident
    statusPage.addUpdate statusPage.changeUpdate statusPage.removeIncident`,
  'billing.write': `billing.getSettings billing.updateSettings billing.enterTestCard billing.addPaymentMethod
    billing.makeDefaultPaymentMethod billing.removePaymentMethod billing.pay billing.updateLimits`,
  'role.write': 'orgs.inviteMember orgs.changeRole',
  'organization.write':
    'orgs.update orgs.sendVerifyEmail orgs.delete statusPage.update domains.add domains.check domains.remove',
  'secrets.write': 'secrets.change',
  'rpc.write': 'rpc.createToken',
  // Not in the specification: viewers receive no credentials that work outside the console.
  'credentials.read': 'rpc.getToken squids.exportDatabase',
  // Not in the specification.
  'alerts.write': `alerts.changeRule alerts.addChannel alerts.changeChannel alerts.removeChannel alerts.testChannel
    alerts.replayDelivery`,
  // Not in the specification: the operator's console.
  operator: `operators.getAccess operators.confirmPassword operators.getOverview operators.listDeployments operators.listOrgs
    operators.listSquids operators.closeSupport operators.listUsers operators.listSessions`,
  'operator.write': `operators.suspendOrg operators.resumeOrg operators.changeLimits operators.hibernateSquid operators.openSupport
    operators.announceMaintenance operators.withdrawMaintenance operators.disableUser operators.enableUser
    operators.resendConfirmation operators.endSession operators.endSessions`,
}
const accessOf = new Map(
  Object.entries(endpointsByAccess).flatMap(([access, names]) =>
    names.split(/\s+/).map((name): [string, Access] => [name, access as Access]),
  ),
)

/**
 * The endpoints of each scope of API tokens. Each scope includes the previous ones; `deploy` suffices for the public client. A stolen
 * token must not be able to call the endpoints of `session`: they change sign-in, create tokens, or delete an organization.
 */
const endpointsByScope: Record<Scope, string> = {
  read: `user.get orgs.list orgs.get orgs.listRoles orgs.getQuotas squids.listMine squids.list squids.listSummaries squids.get
    squids.query deployments.list deployments.get logs.history logs.download logs.follow metrics.getIngress
    metrics.getSquidIngress metrics.getSquidUsage monitoring.scrape monitoring.query secrets.list secrets.listUses
    rpc.listChains rpc.getChain portal.listDatasets portal.getDataset billing.getReceipt billing.exportReceipts
    billing.listInvoices billing.getInvoice billing.getSummary billing.getSquidCost billing.estimate billing.getLimits
    alerts.list alerts.listRules alerts.listMutes alerts.listChannels alerts.listDeliveries statusPage.get
    statusPage.listIncidents domains.list`,
  deploy: `squids.deploy squids.restart squids.hibernate squids.rollback squids.delete squids.setTag squids.removeTag
    deployments.createUpload deployments.upload deployments.getChanges secrets.change`,
  admin: `user.resendConfirmation user.listInvites user.listApiTokens orgs.create orgs.acceptInvite orgs.rejectInvite
    orgs.update orgs.sendVerifyEmail orgs.inviteMember orgs.changeRole orgs.removeMember rpc.getToken rpc.createToken
    squids.exportDatabase billing.getSettings billing.updateSettings billing.enterTestCard billing.addPaymentMethod
    billing.makeDefaultPaymentMethod billing.removePaymentMethod billing.pay billing.updateLimits alerts.mute
    alerts.unmute alerts.changeRule alerts.addChannel alerts.changeChannel alerts.removeChannel alerts.testChannel
    alerts.replayDelivery statusPage.update statusPage.createIncident statusPage.changeIncident statusPage.addUpdate
    statusPage.changeUpdate statusPage.removeIncident domains.add domains.check domains.remove`,
  session: `auth.signOut auth.confirmEmail user.update user.completeOnboarding user.changePassword user.createApiToken
    user.deleteApiToken user.listSessions user.endSessions orgs.delete
    operators.getAccess operators.confirmPassword operators.listOrgs operators.suspendOrg operators.resumeOrg
    operators.changeLimits operators.listSquids operators.hibernateSquid operators.openSupport operators.closeSupport
    operators.announceMaintenance operators.withdrawMaintenance operators.listUsers operators.disableUser operators.enableUser
    operators.resendConfirmation operators.getOverview operators.listDeployments operators.listSessions operators.endSession
    operators.endSessions`,
}
const scopeOf = new Map(
  Object.entries(endpointsByScope).flatMap(([scope, names]) =>
    names.split(/\s+/).map((name): [string, Scope] => [name, scope as Scope]),
  ),
)

type Member = keyof typeof memberPermissions
const isMember = (caller: string): caller is Member => caller in memberPermissions

/** The operators are not members of `org`. One of them has not entered the password recently. */
const operatorCallers = ['operator', 'operator without password'] as const
const allCallers = [
  'stranger',
  'unverified',
  'outsider',
  ...operatorCallers,
  ...(Object.keys(memberPermissions) as Member[]),
] as const
type Caller = (typeof allCallers)[number]
/** The kinds of credential: a session; an API token of each scope, for all organizations; an admin token that is limited to another organization. */
const credentials = ['session', 'read', 'deploy', 'admin', 'admin elsewhere'] as const
type Credential = (typeof credentials)[number]
const scopeOrder: Scope[] = ['read', 'deploy', 'admin', 'session']

/** Returns why the API token may not make the call, regardless of the permissions of its user; null if it may. */
function expectedTokenRefusal(name: string, access: Access, credential: Credential): string | null {
  if (credential === 'session') return null
  const neededScope = scopeOf.get(name)
  if (neededScope === undefined) return 'its scope is not listed'
  if (neededScope === 'session') return '405 SESSION_NEEDED'
  const tokenScope: Scope = credential === 'admin elsewhere' ? 'admin' : credential
  if (scopeOrder.indexOf(neededScope) > scopeOrder.indexOf(tokenScope)) return '405 TOKEN_SCOPE'
  const isOutsideOrgs = access === 'user' || access === 'verified'
  return credential === 'admin elsewhere' && isOutsideOrgs && neededScope !== 'read' ? '405 TOKEN_SCOPE' : null
}

/** Returns the outcome required by the tables above; `in` means that the call is admitted. */
function expectedOutcome(name: string, caller: Caller, credential: Credential): string {
  const access = accessOf.get(name)
  if (access === undefined) return 'its access is not listed'
  if (access === 'public') return 'in'
  if (access === 'operator' || access === 'operator.write') return expectedOperatorOutcome(access, caller, credential)
  if (caller === 'stranger') return '401 CREDENTIALS_INVALID'
  const refusal = expectedTokenRefusal(name, access, credential)
  if (refusal) return refusal
  if (access === 'user') return 'in'
  if (caller === 'unverified') return '405 EMAIL_NOT_VERIFIED'
  if (access === 'verified') return 'in'
  if (!isMember(caller) || credential === 'admin elsewhere') return '404 NOT_FOUND'
  if (access === 'member') return 'in'
  const callerPermissions: readonly Permission[] = memberPermissions[caller]
  return callerPermissions.includes(access) ? 'in' : '405 NOT_ALLOWED'
}

/** For all callers but operators with a session, the endpoints of operators are unknown paths. */
function expectedOperatorOutcome(access: Access, caller: Caller, credential: Credential): string {
  const isOperator = caller === 'operator' || caller === 'operator without password'
  if (!isOperator || credential !== 'session') return '404 NOT_FOUND'
  return access === 'operator.write' && caller !== 'operator' ? '405 PASSWORD_NEEDED' : 'in'
}

let t: TestApp
let org: TestOrg
let users: Record<Exclude<Caller, 'stranger'>, TestUser>
let tokens: Record<Exclude<Caller, 'stranger'>, Record<Exclude<Credential, 'session'>, string>>
/** Serves the whole contract with handlers that only record the call. */
let server: FastifyInstance
let admittedCall: { name: string; actor?: Actor; org?: OrgScope } | null = null

beforeAll(async () => {
  t = await startTestApp()
  org = await t.make.org()
  users = {
    unverified: await t.make.member(org, 'admin', await t.make.user({ emailVerified: false })),
    outsider: (await t.make.org()).admin,
    operator: await t.make.operator(),
    'operator without password': await t.make.operator(),
    admin: org.admin,
    developer: await t.make.member(org, 'developer'),
    viewer: await t.make.member(org, 'viewer'),
    'owner of the playground': await t.make.user(),
  }
  const tokensByCaller = await Promise.all(
    Object.entries(users).map(async ([caller, user]) => {
      const otherOrg = await t.make.org({ admin: user })
      const token = (scope: TokenScope, organization?: string) =>
        t.make.token(user, { scope, ...(organization && { organization }) })
      const tokensOfUser = {
        read: await token('read'),
        deploy: await token('deploy'),
        admin: await token('admin'),
        'admin elsewhere': await token('admin', otherOrg.code),
      }
      return [caller, tokensOfUser]
    }),
  )
  tokens = Object.fromEntries(tokensByCaller) as typeof tokens
  server = Fastify()
  acceptEmptyForms(server, bodyReaders(t.app).ofCalls)
  await server.register(multipart)
  server.setErrorHandler((error, request, reply) => {
    const { status, body } = errorBody(error, request.id)
    return reply.code(status).send(body)
  })
  mount(server, t.app, contract, createRecordingHandlers())
})
afterAll(async () => {
  await server.close()
  await t.close()
})

function createRecordingHandlers() {
  const areas: Record<string, Record<string, unknown>> = {}
  for (const [name] of endpointsOf(contract)) {
    const [area = '', shortName = ''] = name.split('.')
    ;(areas[area] ??= {})[shortName] = async (call: { actor?: Actor; org?: OrgScope }) => {
      admittedCall = { name, ...call }
      throw new Refusal(418, 'ENTERED', 'The call was admitted')
    }
  }
  return areas
}

async function actualOutcome(name: string, e: Endpoint, caller: Caller, credential: Credential): Promise<string> {
  admittedCall = null
  const code = caller === 'owner of the playground' ? users[caller].playground.code : org.code
  if (caller === 'operator') await enterPassword(users.operator)
  const secret =
    caller === 'stranger' ? null : credential === 'session' ? users[caller].token : tokens[caller][credential]
  const response = await server.inject(requestFor(name, e, { code }, secret))
  const { code: refusal } = response.json<{ code: string }>()
  if (refusal !== 'ENTERED') return `${response.statusCode} ${refusal}`
  checkAdmittedCall(name, e, caller, code)
  return 'in'
}

const enterPassword = (user: TestUser) =>
  t.app.database.pool.query('update sessions set password_at = $1 where user_id = $2', [t.clock.now(), user.id])

/** Checks that the handler received the caller and the organization if and only if the access of its endpoint requires them. */
function checkAdmittedCall(name: string, e: Endpoint, caller: Caller, code: string): void {
  const expectedUserId = caller === 'stranger' || e.access === 'public' ? undefined : users[caller].id
  expect(admittedCall).toMatchObject({ name })
  expect(admittedCall?.actor?.userId).toBe(expectedUserId)
  const hasOrg = !['public', 'user', 'verified', 'operator', 'operator.write'].includes(e.access)
  expect(admittedCall?.org?.code).toBe(hasOrg ? code : undefined)
}

describe('every endpoint admits exactly the callers that the specification allows', () => {
  test.each(endpointsOf(contract))('%s', async (name, e) => {
    const actual: Record<string, string> = {}
    const required: Record<string, string> = {}
    for (const credential of credentials) {
      // Avoids rate limits.
      t.clock.advance(hours(1))
      for (const caller of allCallers) {
        const cell = `${caller}, ${credential}`
        actual[cell] = await actualOutcome(name, e, caller, credential)
        required[cell] = expectedOutcome(name, caller, credential)
      }
    }
    expect(actual).toEqual(required)
  })

  test('the tables list the access of every endpoint and the scope of every endpoint that is not public', () => {
    const namesIn = (table: Record<string, string>) =>
      Object.values(table)
        .flatMap((names) => names.split(/\s+/))
        .toSorted()
    const all = endpointsOf(contract)
      .map(([name]) => name)
      .toSorted()
    expect(namesIn(endpointsByAccess)).toEqual(all)
    const isPublic = (name: string) => accessOf.get(name) === 'public'
    expect(namesIn(endpointsByScope)).toEqual(all.filter((name) => !isPublic(name)))
    for (const [name, { scope }] of endpointsOf(contract))
      expect([name, scope]).toEqual([name, scopeOf.get(name) ?? null])
  })

  test('an expired, signed-out or invented credential is rejected', async () => {
    const signedOut = await t.make.user()
    await t.as(signedOut).auth.signOut()
    const expired = await t.make.token(signedOut, { expiresAt: new Date(t.clock.now().getTime() + 1) })
    t.clock.advance(1)
    for (const secret of [signedOut.token, expired, 'shoal_made-up', 'a.b.c'])
      for (const [name, e] of endpointsOf(contract)) {
        if (e.access === 'public') continue
        const response = await server.inject(requestFor(name, e, { code: org.code }, secret))
        expect([name, response.statusCode]).toEqual([name, isForOperators(e) ? 404 : 401])
      }
  })
})

describe('declarations', () => {
  test.each(endpointsOf(contract))(
    '%s has an organization in its path if and only if its access requires one',
    (name, e) => {
      const needsOrg = !['public', 'user', 'verified', 'operator', 'operator.write'].includes(e.access)
      // The invited user is not a member yet.
      const isInvitation = name === 'orgs.acceptInvite' || name === 'orgs.rejectInvite'
      expect(e.path.startsWith('/v1/orgs/{code}')).toBe(needsOrg || isInvitation)
    },
  )

  test.each(endpointsOf(contract))('%s has valid sample input for these tests', (name, e) => {
    expect(e.body.safeParse(bodySamples[name]).success).toBe(true)
    expect(e.query.safeParse(querySamples[name] ?? {}).success).toBe(true)
  })

  test('an endpoint without access does not compile', () => {
    // @ts-expect-error An endpoint must declare its access.
    endpoint({ method: 'GET', path: '/v1/new', summary: 'New', payload: z.null() })
    // @ts-expect-error Unknown permission.
    endpoint({ method: 'GET', path: '/v1/new', access: 'everything', summary: 'New', payload: z.null() })
    // @ts-expect-error An endpoint that is not public must declare the scope of API tokens.
    endpoint({ method: 'GET', path: '/v1/new', access: 'verified', summary: 'New', payload: z.null() })
    const declaration = { method: 'GET', path: '/v1/new', summary: 'New', payload: z.null() } as const
    const endpointWithoutOrg = endpoint({ ...declaration, access: 'verified', scope: 'read' })
    // @ts-expect-error A handler without `{code}` and membership has no organization to read.
    const handler: Handler<typeof endpointWithoutOrg> = async ({ org: none }) => none
    expect(handler).toBeTypeOf('function')
  })

  /** Fields whose content tenants choose: names of secrets, manifests, fields of log lines, responses of squids. */
  const openFields = ['secrets', 'manifest.current', 'packageJson', 'payload', 'uploadFields', 'response']

  test.each(endpointsOf(contract))('%s declares all fields that it returns', (_, e) => {
    const schema = z.toJSONSchema(e.payload, { io: 'output', unrepresentable: 'any' })
    expect(openPaths(schema).filter((path) => !openFields.some((field) => path.endsWith(field)))).toEqual([])
  })
})

type Json = { [key: string]: unknown }

/** Returns the paths in a JSON schema that allow any content. */
function openPaths(schema: Json, path = ''): string[] {
  const children = (key: string) => Object.entries((schema[key] ?? {}) as Record<string, Json>)
  const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => (schema[key] ?? []) as Json[])
  if (alternatives.length > 0) return alternatives.flatMap((alternative) => openPaths(alternative, path))
  if (typeof schema['$ref'] === 'string' || 'const' in schema || 'enum' in schema) return []
  if (schema['type'] === 'array') return openPaths((schema['items'] ?? {}) as Json, path)
  if (schema['type'] !== 'object') return schema['type'] === undefined ? [path] : []
  const isClosed = schema['additionalProperties'] === false
  const inside = children('properties').flatMap(([key, child]) => openPaths(child, path ? `${path}.${key}` : key))
  return isClosed ? inside : [path, ...inside]
}
