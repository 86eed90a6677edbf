import { contract, endpointsOf, type ApiError, type Endpoint } from '@shoal/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hours } from '../clock.ts'
import { deployments } from '../modules/deployments/tables.ts'
import { squids } from '../modules/versions/tables.ts'
import { requestFor } from '../testing/contract-samples.ts'
import { startTestApp, type TestApp, type TestOrg, type TestUser } from '../testing/index.ts'

/** A marker in all data of the victim, except in text that attackers' requests contain themselves. No other tenant may ever read it. */
const marker = 'x7victim7x'

/** An organization with one resource of each kind, and their ids. */
type Victim = TestOrg & {
  guest: TestUser
  squidId: number
  ids: Record<'role' | 'invitation' | 'deployment' | 'upload' | 'token' | 'mute' | 'channel' | 'delivery', string>
}

let t: TestApp
let victim: Victim
/** Another organization, whose admin is the most powerful caller without access to the victim. */
let attacker: TestOrg
let before: string

beforeAll(async () => {
  t = await startTestApp({ env: { SHOAL_ALERTS_ALLOW_PRIVATE: 'true' } })
  victim = await makeVictim()
  attacker = await t.make.org()
  before = await dumpRows(victim)
})
afterAll(() => t.close())
// Avoids rate limits.
beforeEach(() => t.clock.advance(hours(2)))

const sql = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await t.app.database.pool.query<Row>(text, values)).rows

async function makeVictim(): Promise<Victim> {
  const org = await t.make.org({ code: 'victims', name: `Name ${marker}` })
  const guest = await t.make.user({ email: `guest-${marker}@example.com`, fullName: marker })
  const member = await t.make.member(org, 'developer', await t.make.user({ email: `${marker}@example.com` }))
  const asAdmin = t.as(org.admin)
  const params = { code: org.code }
  const invitation = await asAdmin.orgs.inviteMember({ params, body: { email: guest.email } })
  await asAdmin.orgs.update({ params, body: { email: `ops-${marker}@example.com` } })
  const secret = { action: 'UPDATE' as const, name: `SECRET_${marker}`, value: marker }
  await asAdmin.secrets.change({ params, body: { secrets: [secret] } })
  await asAdmin.rpc.getToken({ params })
  const upload = await asAdmin.deployments.createUpload({ params })
  const token = await asAdmin.user.createApiToken({ body: { name: marker } })
  const squidId = await addSquid(org.id, 'theirs', marker)
  const now = t.clock.now()
  const [deployment] = await t.app.db
    .insert(deployments)
    .values({
      orgId: org.id,
      squidId,
      squidName: 'theirs',
      squidSlot: 'v1',
      type: 'DEPLOY',
      status: 'OK',
      requestKey: marker,
      failureReason: marker,
      createdAt: now,
      updatedAt: now,
      finishedAt: now,
    })
    .returning({ id: deployments.id })
  const uploadId = upload.uploadUrl.split('/').at(-1) ?? ''
  const mute = await asAdmin.alerts.mute({ params, body: { kind: null, squidId, minutes: 43_200 } })
  const body = { type: 'webhook' as const, name: marker, url: `http://127.0.0.1:1/${marker}` }
  const { channel } = await asAdmin.alerts.addChannel({ params, body })
  const delivery = await asAdmin.alerts.testChannel({ params: { ...params, channelId: String(channel.id) } })
  const ids = {
    role: member.roleId,
    invitation: invitation.id,
    deployment: deployment?.id,
    token: token.id,
    mute: mute.id,
    channel: channel.id,
    delivery: delivery.id,
  }
  const idTexts = Object.fromEntries(Object.entries(ids).map(([key, id]) => [key, String(id)]))
  return { ...org, guest, squidId, ids: { ...(idTexts as Victim['ids']), upload: uploadId } }
}

async function addSquid(orgId: number, name: string, description: string): Promise<number> {
  const [squid] = await t.app.db.insert(squids).values({ orgId, name, slot: 'v1', description }).returning()
  return squid?.id ?? 0
}

/** Returns all rows of the victim as one text. */
async function dumpRows({ id, squidId, ids }: Victim): Promise<string> {
  const ownedColumns = await sql<{ table: string; column: string }>(
    `select table_name as "table", column_name as "column" from information_schema.columns
     where table_schema = 'public' and column_name in ('org_id', 'squid_id') and table_name <> 'audit_log' order by 1, 2`,
  )
  const rows = await Promise.all([
    ...ownedColumns.map(({ table, column }) =>
      sql(`select t::text from "${table}" t where "${column}" = $1 order by 1`, [column === 'org_id' ? id : squidId]),
    ),
    sql('select o::text from orgs o where id = $1', [id]),
    sql('select id, name from api_tokens where id = $1', [ids.token]),
  ])
  return JSON.stringify(rows)
}

/** Returns ids of the victim for the parameters of a path. */
function idsFor(endpoint: Endpoint): Record<string, string> {
  const { ids } = victim
  const id = /\/(accept|reject)$/.test(endpoint.path)
    ? ids.invitation
    : endpoint.path.includes('/roles/')
      ? ids.role
      : endpoint.path.includes('/deployments/')
        ? ids.deployment
        : endpoint.path.includes('/api-tokens/')
          ? ids.token
          : '1'
  return {
    id,
    squidId: String(victim.squidId),
    reference: 'theirs@v1',
    tag: 'prod',
    upload: ids.upload,
    provider: 'google',
    kind: 'STALLED',
    muteId: ids.mute,
    channelId: ids.channel,
    deliveryId: ids.delivery,
  }
}

async function attack(name: string, endpoint: Endpoint, code: string, credential: string | null) {
  const response = await t.http.inject(requestFor(name, endpoint, { ...idsFor(endpoint), code }, credential))
  return { status: response.statusCode, leaks: response.body.includes(marker) }
}

const endpoints = endpointsOf(contract)
/** For users who are not operators, these endpoints look like unknown paths. */
const isOperatorEndpoint = ({ path }: Endpoint) => path.startsWith('/v1/admin')
const orgEndpoints = endpoints.filter(([, endpoint]) => endpoint.path.includes('{code}'))
const endpointsWithIds = endpoints.filter(([, endpoint]) =>
  /\{(id|squidId|reference|upload|muteId|channelId|deliveryId)\}/.test(endpoint.path),
)
/** Endpoints whose ids name chains and datasets, which all tenants share. */
const sharedIdEndpoints = ['rpc.getChain', 'portal.getDataset']

describe("in another tenant's organization", () => {
  test.each(orgEndpoints)('%s finds nothing', async (name, endpoint) => {
    const callers: [string, string | null, number][] = [
      ['a stranger', null, 401],
      ['an unverified guest', (await t.make.user({ emailVerified: false, email: victim.guest.email })).token, 405],
      ['an admin of another organization', attacker.admin.token, 404],
      ['an API token of that admin', await t.make.token(attacker.admin), endpoint.scope === 'session' ? 405 : 404],
    ]
    for (const [who, credential, status] of callers)
      expect([who, await attack(name, endpoint, victim.code, credential)]).toEqual([
        who,
        { status: isOperatorEndpoint(endpoint) ? 404 : status, leaks: false },
      ])
  })
})

describe("with another tenant's ids in the attacker's own organization", () => {
  test.each(endpointsWithIds.filter(([name]) => !sharedIdEndpoints.includes(name)))(
    '%s finds nothing',
    async (name, endpoint) => {
      expect(await attack(name, endpoint, attacker.code, attacker.admin.token)).toEqual({ status: 404, leaks: false })
    },
  )

  test("another tenant's ids in bodies and queries find nothing", async () => {
    const params = { code: attacker.code }
    const asAttacker = t.as(attacker.admin)
    const squidId = String(victim.squidId)
    expect(await asAttacker.deployments.list({ params, query: { squidId } })).toEqual([])
    expect(await asAttacker.deployments.list({ params, query: { before: '999999999' } })).toEqual([])
    expect(await asAttacker.squids.listMine({ query: { name: 'theirs' } })).toEqual([])
    expect(await asAttacker.squids.list({ params, query: { search: 'theirs' } })).toEqual([])
    await addSquid(attacker.id, 'own', 'own')
    const rollback = (deploymentId: number) =>
      asAttacker.squids
        .rollback({ params: { ...params, reference: 'own@v1' }, body: { deploymentId } })
        .catch((error: ApiError) => `${error.status} ${error.message.replace(String(deploymentId), 'N')}`)
    expect(await rollback(Number(victim.ids.deployment))).toBe(await rollback(999_999))
    expect(await rollback(999_999)).toMatch(/^40[45] /)
  })
})

test('lists that an outsider requests contain nothing of the victim', async () => {
  for (const [name, endpoint] of endpoints) {
    if (endpoint.method !== 'GET' || endpoint.path.includes('{') || endpoint.kind !== 'json') continue
    expect([name, await attack(name, endpoint, '', attacker.admin.token)]).toEqual([
      name,
      { status: isOperatorEndpoint(endpoint) ? 404 : 200, leaks: false },
    ])
  }
})

test('the data of the victim is unchanged after all attacks', async () => {
  expect(await dumpRows(victim)).toBe(before)
  expect(before).toContain(marker)
  // Authorized callers see the marker; otherwise the tests above could not have detected a leak.
  const ownResponse = await t.http.inject({
    url: `/api/v1/orgs/${victim.code}/squids`,
    headers: { authorization: `Bearer ${victim.admin.token}` },
  })
  expect(ownResponse.body).toContain(marker)
})
