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

/** Spec 6 once more and what came after it, in its own words, so that a change of the table that everybody asks is noticed here. */
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
 * Who may call what, by spec 6 and not by the endpoints' own declarations, so that an endpoint that is declared with too little
 * is noticed here. What the spec names no permission for is for every member (it says "none" of what viewers may change, and
 * shows them every page); what is ours and no part of the spec is marked.
 */
const callers: Record<Access, string> = {
  public: `auth.getOptions auth.getChallenge auth.signUp auth.signIn auth.getOauthUrl auth.signInWithOauth auth.restore
    auth.confirmRestore auth.confirmEmail orgs.verifyEmail billing.getPrices rpc.getIcon`,
  user: `auth.signOut user.get user.update user.completeOnboarding user.changePassword user.resendConfirmation
    user.listSessions user.endSessions`,
  // Unverified users see everything disabled (spec 2.3).
  verified: `user.listInvites user.listApiTokens user.createApiToken user.deleteApiToken orgs.list orgs.create
    orgs.acceptInvite orgs.rejectInvite squids.listMine`,
  // "Remove user" is for administrators and "Leave organization" for everybody: one call, told apart by whose role it is.
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
  // Ours: viewers, who have no permissions, get nothing that works outside of the console.
  'credentials.read': 'rpc.getToken squids.exportDatabase',
  // Ours.
  'alerts.write': `alerts.changeRule alerts.addChannel alerts.changeChannel alerts.removeChannel alerts.testChannel
    alerts.replayDelivery`,
}
const accessOf = new Map(
  Object.entries(callers).flatMap(([access, names]) =>
    names.split(/\s+/).map((name): [string, Access] => [name, access as Access]),
  ),
)

/** What a stolen API token must not be able to do: change who may sign in, mint more tokens, delete everything. */
const forPeople = `auth.signOut user.update user.completeOnboarding user.changePassword user.createApiToken
  user.deleteApiToken user.listSessions user.endSessions orgs.delete`.split(/\s+/)

type Member = keyof typeof rights
const isMember = (caller: string): caller is Member => caller in rights

const everybody = ['stranger', 'unverified', 'outsider', ...(Object.keys(rights) as Member[])] as const
type Caller = (typeof everybody)[number]
type Credential = 'session' | 'API token'

/** What must happen, from the tables above alone. */
function expected(name: string, caller: Caller, credential: Credential): string {
  const access = accessOf.get(name)
  if (access === undefined) return 'nobody has said who may call it'
  if (access === 'public') return 'in'
  if (caller === 'stranger') return '401 CREDENTIALS_INVALID'
  if (forPeople.includes(name) && credential === 'API token') return '405 SESSION_NEEDED'
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
/** The whole contract, mounted as ever, with handlers that only say who got in. */
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
      throw new Refusal(418, 'ENTERED', 'The call got in')
    }
  }
  return areas
}

async function outcome(name: string, e: Endpoint, caller: Caller, credential: Credential): Promise<string> {
  entered = null
  const code = caller === 'owner of the playground' ? people[caller].playground.code : org.code
  const secret = caller === 'stranger' ? null : credential === 'session' ? people[caller].token : tokens[caller]
  const answer = await gate.inject(requestFor(name, e, { code }, secret))
  const { code: refusal } = answer.json<{ code: string }>()
  if (refusal !== 'ENTERED') return `${answer.statusCode} ${refusal}`
  checkWhoEntered(name, e, caller, code)
  return 'in'
}

/** A handler is told who calls and in which organization, and is told no more than its endpoint's access says. */
function checkWhoEntered(name: string, e: Endpoint, caller: Caller, code: string): void {
  const who = caller === 'stranger' || e.access === 'public' ? undefined : people[caller].id
  expect(entered).toMatchObject({ name })
  expect(entered?.actor?.userId).toBe(who)
  const hasOrg = !['public', 'user', 'verified'].includes(e.access)
  expect(entered?.org?.code).toBe(hasOrg ? code : undefined)
}

describe('every endpoint lets in who may call it by the specification, and nobody else', () => {
  test.each(endpointsOf(contract))('%s', async (name, e) => {
    const found: Record<string, string> = {}
    const wanted: Record<string, string> = {}
    for (const credential of ['session', 'API token'] as const) {
      // Limits are another matter.
      t.clock.advance(hours(1))
      for (const caller of everybody) {
        const cell = `${caller}, ${credential}`
        found[cell] = await outcome(name, e, caller, credential)
        wanted[cell] = expected(name, caller, credential)
      }
    }
    expect(found).toEqual(wanted)
  })

  test('the table names every endpoint once and nothing else', () => {
    const named = Object.values(callers).flatMap((names) => names.split(/\s+/))
    expect(named.toSorted()).toEqual(
      endpointsOf(contract)
        .map(([name]) => name)
        .toSorted(),
    )
  })

  test('a credential that is expired, signed out or made up is nobody', async () => {
    const gone = await t.make.user()
    await t.as(gone).auth.signOut()
    const expired = await t.make.token(gone, { expiresAt: new Date(t.clock.now().getTime() + 1) })
    t.clock.advance(1)
    for (const secret of [gone.token, expired, 'shoal_made-up', 'a.b.c'])
      for (const [name, e] of endpointsOf(contract)) {
        if (e.access === 'public') continue
        const answer = await gate.inject(requestFor(name, e, { code: org.code }, secret))
        expect([name, answer.statusCode]).toEqual([name, 401])
      }
  })
})

describe('declarations', () => {
  test.each(endpointsOf(contract))('%s names an organization exactly when its access needs one', (name, e) => {
    const needsOrg = !['public', 'user', 'verified'].includes(e.access)
    // An invitation is for somebody who is not a member yet.
    const isInvitation = name === 'orgs.acceptInvite' || name === 'orgs.rejectInvite'
    expect(e.path.startsWith('/v1/orgs/{code}')).toBe(needsOrg || isInvitation)
  })

  test.each(endpointsOf(contract))('%s has samples for these tests if it needs input', (name, e) => {
    expect(e.body.safeParse(bodySamples[name]).success).toBe(true)
    expect(e.query.safeParse(querySamples[name] ?? {}).success).toBe(true)
  })

  test('without access an endpoint does not compile', () => {
    // @ts-expect-error Nothing is open by omission.
    endpoint({ method: 'GET', path: '/v1/new', summary: 'New', payload: z.null() })
    // @ts-expect-error Nor with a permission that nobody has heard of.
    endpoint({ method: 'GET', path: '/v1/new', access: 'everything', summary: 'New', payload: z.null() })
    const mine = endpoint({ method: 'GET', path: '/v1/mine', access: 'verified', summary: 'Mine', payload: z.null() })
    // @ts-expect-error A handler without `{code}` and membership has no organization to read.
    const handler: Handler<typeof mine> = async ({ org: none }) => none
    expect(handler).toBeTypeOf('function')
  })

  /** Where an answer holds what its maker chose: names of secrets, the squid's own manifest, a log line's own fields, what a squid answers. */
  const open = ['secrets', 'manifest.current', 'packageJson', 'payload', 'uploadFields', 'answer']

  test.each(endpointsOf(contract))('%s answers declared fields only', (_, e) => {
    const schema = z.toJSONSchema(e.payload, { io: 'output', unrepresentable: 'any' })
    expect(openPlaces(schema).filter((place) => !open.some((known) => place.endsWith(known)))).toEqual([])
  })
})

type Json = { [key: string]: unknown }

/** Places of a JSON schema where anything may stand. */
function openPlaces(schema: Json, place = ''): string[] {
  const children = (key: string) => Object.entries((schema[key] ?? {}) as Record<string, Json>)
  const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => (schema[key] ?? []) as Json[])
  if (alternatives.length > 0) return alternatives.flatMap((one) => openPlaces(one, place))
  if (typeof schema['$ref'] === 'string' || 'const' in schema || 'enum' in schema) return []
  if (schema['type'] === 'array') return openPlaces((schema['items'] ?? {}) as Json, place)
  if (schema['type'] !== 'object') return schema['type'] === undefined ? [place] : []
  const isClosed = schema['additionalProperties'] === false
  const inside = children('properties').flatMap(([key, one]) => openPlaces(one, place ? `${place}.${key}` : key))
  return isClosed ? inside : [place, ...inside]
}
