import formbody from '@fastify/formbody'
import multipart from '@fastify/multipart'
import { contract, endpoint, endpointsOf, type Access, type Endpoint, type Permission } from '@shoal/contract'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { hours } from '../clock.ts'
import { Refusal } from '../errors.ts'
import type { Actor, Handler, OrgScope } from '../modules/call.ts'
import { startTestApp, type TestApp, type TestOrg, type TestUser } from '../testing/index.ts'
import { errorBody, mount } from './mount.ts'
import { bodySamples, querySamples, requestFor } from '../testing/contract-samples.ts'

/** The permissions of section 6 of the specification and later ones, repeated here so that a change of the server's table is detected. */
const rights = {
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
 * The access of each endpoint by section 6 of the specification, independent of the declarations, so that an endpoint declared with
 * too little access control is detected. Endpoints for which the specification names no permission are open to every member
 * (viewers may see all pages and change nothing). Permissions that are not in the specification are marked.
 */
const callers: Record<Access, string> = {
  public: `auth.getOptions auth.getChallenge auth.signUp auth.signIn auth.getOauthUrl auth.signInWithOauth auth.restore
    auth.confirmRestore auth.confirmEmail orgs.verifyEmail billing.getPrices rpc.getIcon`,
  user: `auth.signOut user.get user.update user.completeOnboarding user.changePassword user.resendConfirmation
    user.listSessions user.endSessions`,
  // Unverified users see everything disabled.
  verified: `user.listInvites user.listApiTokens user.createApiToken user.deleteApiToken orgs.list orgs.create
    orgs.acceptInvite orgs.rejectInvite squids.listMine`,
  // "Remove user" is for administrators and "Leave organization" for every member; the endpoint checks whose role it is.
  member: `orgs.get orgs.listRoles orgs.removeMember orgs.getQuotas squids.list squids.listSummaries squids.get squids.query
    deployments.list deployments.get logs.history logs.download logs.follow metrics.getIngress metrics.getSquidIngress
    metrics.getSquidUsage monitoring.scrape monitoring.query secrets.list secrets.listUses rpc.listChains rpc.getChain
    portal.listDatasets portal.getDataset billing.getReceipt billing.exportReceipts billing.listInvoices billing.getInvoice
    billing.getSummary billing.getSquidCost billing.estimate billing.getLimits alerts.list alerts.listRules alerts.listMutes
    alerts.listChannels alerts.listDeliveries`,
  'squids.write': `squids.deploy squids.restart squids.hibernate squids.rollback squids.delete squids.setTag squids.removeTag
    deployments.createUpload deployments.upload alerts.mute alerts.unmute`,
  'billing.write': `billing.getSettings billing.updateSettings billing.enterTestCard billing.addPaymentMethod
    billing.makeDefaultPaymentMethod billing.removePaymentMethod billing.pay billing.updateLimits`,
  'role.write': 'orgs.inviteMember orgs.changeRole',
  'organization.write': 'orgs.update orgs.sendVerifyEmail orgs.delete',
  'secrets.write': 'secrets.change',
  'rpc.write': 'rpc.createToken',
  // Not in the specification: viewers get no credentials that work outside of the console.
  'credentials.read': 'rpc.getToken squids.exportDatabase',
  // Not in the specification.
  'alerts.write': `alerts.changeRule alerts.addChannel alerts.changeChannel alerts.removeChannel alerts.testChannel
    alerts.replayDelivery`,
}
const accessOf = new Map(
  Object.entries(callers).flatMap(([access, names]) =>
    names.split(/\s+/).map((name): [string, Access] => [name, access as Access]),
  ),
)

/** Endpoints that a stolen API token must not be able to call: those that change sign-in, create tokens, or delete an organization. */
const sessionOnly = `auth.signOut user.update user.completeOnboarding user.changePassword user.createApiToken
  user.deleteApiToken user.listSessions user.endSessions orgs.delete`.split(/\s+/)

type Member = keyof typeof rights
const isMember = (caller: string): caller is Member => caller in rights

const allCallers = ['stranger', 'unverified', 'outsider', ...(Object.keys(rights) as Member[])] as const
type Caller = (typeof allCallers)[number]
type Credential = 'session' | 'API token'

/** The outcome required by the tables above. */
function expected(name: string, caller: Caller, credential: Credential): string {
  const access = accessOf.get(name)
  if (access === undefined) return 'its access is not listed'
  if (access === 'public') return 'in'
  if (caller === 'stranger') return '401 CREDENTIALS_INVALID'
  if (sessionOnly.includes(name) && credential === 'API token') return '405 SESSION_NEEDED'
  if (access === 'user') return 'in'
  if (caller === 'unverified') return '405 EMAIL_NOT_VERIFIED'
  if (access === 'verified') return 'in'
  if (!isMember(caller)) return '404 NOT_FOUND'
  if (access === 'member') return 'in'
  const held: readonly Permission[] = rights[caller]
  return held.includes(access) ? 'in' : '405 NOT_ALLOWED'
}

let t: TestApp
let org: TestOrg
let people: Record<Exclude<Caller, 'stranger'>, TestUser>
let tokens: Record<Exclude<Caller, 'stranger'>, string>
/** A server with the whole contract, whose handlers only record the caller. */
let gate: FastifyInstance
let entered: { name: string; actor?: Actor; org?: OrgScope } | null = null

beforeAll(async () => {
  t = await startTestApp()
  org = await t.make.org()
  people = {
    unverified: await t.make.member(org, 'admin', await t.make.user({ emailVerified: false })),
    outsider: (await t.make.org()).admin,
    admin: org.admin,
    developer: await t.make.member(org, 'developer'),
    viewer: await t.make.member(org, 'viewer'),
    'owner of the playground': await t.make.user(),
  }
  const keys = await Promise.all(
    Object.entries(people).map(async ([caller, person]) => [caller, await t.make.token(person)]),
  )
  tokens = Object.fromEntries(keys) as typeof tokens
  gate = Fastify()
  await gate.register(formbody)
  await gate.register(multipart)
  gate.setErrorHandler((error, request, reply) => {
    const { status, body } = errorBody(error, request.id)
    return reply.code(status).send(body)
  })
  mount(gate, t.app, contract, everyHandler())
})
afterAll(async () => {
  await gate.close()
  await t.close()
})

function everyHandler() {
  const areas: Record<string, Record<string, unknown>> = {}
  for (const [name] of endpointsOf(contract)) {
    const [area = '', verb = ''] = name.split('.')
    ;(areas[area] ??= {})[verb] = async (call: { actor?: Actor; org?: OrgScope }) => {
      entered = { name, ...call }
      throw new Refusal(418, 'ENTERED', 'The call was admitted')
    }
  }
  return areas
}

async function outcome(name: string, e: Endpoint, caller: Caller, credential: Credential): Promise<string> {
  entered = null
  const code = caller === 'owner of the playground' ? people[caller].playground.code : org.code
  const secret = caller === 'stranger' ? null : credential === 'session' ? people[caller].token : tokens[caller]
  const response = await gate.inject(requestFor(name, e, { code }, secret))
  const { code: refusal } = response.json<{ code: string }>()
  if (refusal !== 'ENTERED') return `${response.statusCode} ${refusal}`
  checkWhoEntered(name, e, caller, code)
  return 'in'
}

/** A handler receives the caller and the organization, but only if the access of its endpoint requires them. */
function checkWhoEntered(name: string, e: Endpoint, caller: Caller, code: string): void {
  const who = caller === 'stranger' || e.access === 'public' ? undefined : people[caller].id
  expect(entered).toMatchObject({ name })
  expect(entered?.actor?.userId).toBe(who)
  const hasOrg = !['public', 'user', 'verified'].includes(e.access)
  expect(entered?.org?.code).toBe(hasOrg ? code : undefined)
}

describe('every endpoint admits exactly the callers that the specification allows', () => {
  test.each(endpointsOf(contract))('%s', async (name, e) => {
    const actual: Record<string, string> = {}
    const required: Record<string, string> = {}
    for (const credential of ['session', 'API token'] as const) {
      // Avoids rate limits.
      t.clock.advance(hours(1))
      for (const caller of allCallers) {
        const cell = `${caller}, ${credential}`
        actual[cell] = await outcome(name, e, caller, credential)
        required[cell] = expected(name, caller, credential)
      }
    }
    expect(actual).toEqual(required)
  })

  test('the table lists every endpoint exactly once', () => {
    const named = Object.values(callers).flatMap((names) => names.split(/\s+/))
    expect(named.toSorted()).toEqual(
      endpointsOf(contract)
        .map(([name]) => name)
        .toSorted(),
    )
  })

  test('an expired, signed-out or invented credential is refused', async () => {
    const signedOut = await t.make.user()
    await t.as(signedOut).auth.signOut()
    const expired = await t.make.token(signedOut, { expiresAt: new Date(t.clock.now().getTime() + 1) })
    t.clock.advance(1)
    for (const secret of [signedOut.token, expired, 'shoal_made-up', 'a.b.c'])
      for (const [name, e] of endpointsOf(contract)) {
        if (e.access === 'public') continue
        const response = await gate.inject(requestFor(name, e, { code: org.code }, secret))
        expect([name, response.statusCode]).toEqual([name, 401])
      }
  })
})

describe('declarations', () => {
  test.each(endpointsOf(contract))('%s names an organization exactly when its access needs one', (name, e) => {
    const needsOrg = !['public', 'user', 'verified'].includes(e.access)
    // The invited user is not a member yet.
    const isInvitation = name === 'orgs.acceptInvite' || name === 'orgs.rejectInvite'
    expect(e.path.startsWith('/v1/orgs/{code}')).toBe(needsOrg || isInvitation)
  })

  test.each(endpointsOf(contract))('%s has sample input for these tests if it needs any', (name, e) => {
    expect(e.body.safeParse(bodySamples[name]).success).toBe(true)
    expect(e.query.safeParse(querySamples[name] ?? {}).success).toBe(true)
  })

  test('an endpoint without access does not compile', () => {
    // @ts-expect-error An endpoint must declare its access.
    endpoint({ method: 'GET', path: '/v1/new', summary: 'New', payload: z.null() })
    // @ts-expect-error Unknown permission.
    endpoint({ method: 'GET', path: '/v1/new', access: 'everything', summary: 'New', payload: z.null() })
    const mine = endpoint({ method: 'GET', path: '/v1/mine', access: 'verified', summary: 'Mine', payload: z.null() })
    // @ts-expect-error A handler without `{code}` and membership has no organization to read.
    const handler: Handler<typeof mine> = async ({ org: none }) => none
    expect(handler).toBeTypeOf('function')
  })

  /** Fields with arbitrary content of tenants: names of secrets, manifests, fields of log lines, responses of squids. */
  const open = ['secrets', 'manifest.current', 'packageJson', 'payload', 'uploadFields', 'answer']

  test.each(endpointsOf(contract))('%s returns declared fields only', (_, e) => {
    const schema = z.toJSONSchema(e.payload, { io: 'output', unrepresentable: 'any' })
    expect(openPaths(schema).filter((path) => !open.some((known) => path.endsWith(known)))).toEqual([])
  })
})

type Json = { [key: string]: unknown }

/** The paths in a JSON schema that allow any content. */
function openPaths(schema: Json, path = ''): string[] {
  const children = (key: string) => Object.entries((schema[key] ?? {}) as Record<string, Json>)
  const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => (schema[key] ?? []) as Json[])
  if (alternatives.length > 0) return alternatives.flatMap((one) => openPaths(one, path))
  if (typeof schema['$ref'] === 'string' || 'const' in schema || 'enum' in schema) return []
  if (schema['type'] === 'array') return openPaths((schema['items'] ?? {}) as Json, path)
  if (schema['type'] !== 'object') return schema['type'] === undefined ? [path] : []
  const isClosed = schema['additionalProperties'] === false
  const inside = children('properties').flatMap(([key, one]) => openPaths(one, path ? `${path}.${key}` : key))
  return isClosed ? inside : [path, ...inside]
}
