import { contract, endpointsOf, type ApiError, type Endpoint } from '@shoal/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hours } from '../clock.ts'
import { deployments } from '../modules/deployments/tables.ts'
import { squids } from '../modules/versions/tables.ts'
import { requestFor } from '../testing/contract-samples.ts'
import { startTestApp, type TestApp, type TestOrg, type TestUser } from '../testing/index.ts'

/** A marker in all data of the victim that attackers do not name themselves. No one else may ever read it. */
const mark = 'x7victim7x'

/** An organization with one of everything, and the ids of all of it. */
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
  before = await everythingOf(victim)
})
afterAll(() => t.close())
// Avoids rate limits.
beforeEach(() => t.clock.advance(hours(2)))

const sql = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await t.app.database.pool.query<Row>(text, values)).rows

async function makeVictim(): Promise<Victim> {
  const org = await t.make.org({ code: 'victims', name: `Name ${mark}` })
  const guest = await t.make.user({ email: `guest-${mark}@example.com`, fullName: mark })
  const member = await t.make.member(org, 'developer', await t.make.user({ email: `${mark}@example.com` }))
  const asAdmin = t.as(org.admin)
  const params = { code: org.code }
  const invitation = await asAdmin.orgs.inviteMember({ params, body: { email: guest.email } })
  await asAdmin.orgs.update({ params, body: { email: `ops-${mark}@example.com` } })
  const secret = { action: 'UPDATE' as const, name: `SECRET_${mark}`, value: mark }
  await asAdmin.secrets.change({ params, body: { secrets: [secret] } })
  await asAdmin.rpc.getToken({ params })
  const upload = await asAdmin.deployments.createUpload({ params })
  const token = await asAdmin.user.createApiToken({ body: { name: mark } })
  const squidId = await addSquid(org.id, 'theirs', mark)
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
      requestKey: mark,
      failureReason: mark,
      createdAt: now,
      updatedAt: now,
      finishedAt: now,
    })
    .returning({ id: deployments.id })
  const uploadId = upload.uploadUrl.split('/').at(-1) ?? ''
  const mute = await asAdmin.alerts.mute({ params, body: { kind: null, squidId, minutes: 43_200 } })
  const body = { type: 'webhook' as const, name: mark, url: `http://127.0.0.1:1/${mark}` }
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
  const texts = Object.fromEntries(Object.entries(ids).map(([key, id]) => [key, String(id)]))
  return { ...org, guest, squidId, ids: { ...(texts as Victim['ids']), upload: uploadId } }
}

async function addSquid(orgId: number, name: string, description: string): Promise<number> {
  const [squid] = await t.app.db.insert(squids).values({ orgId, name, slot: 'v1', description }).returning()
  return squid?.id ?? 0
}

/** All rows of the victim, as one text. */
async function everythingOf({ id, squidId, ids }: Victim): Promise<string> {
  const owned = await sql<{ table: string; column: string }>(
    `select table_name as "table", column_name as "column" from information_schema.columns
     where table_schema = 'public' and column_name in ('org_id', 'squid_id') and table_name <> 'audit_log' order by 1, 2`,
  )
  const parts = await Promise.all([
    ...owned.map(({ table, column }) =>
      sql(`select t::text from "${table}" t where "${column}" = $1 order by 1`, [column === 'org_id' ? id : squidId]),
    ),
    sql('select o::text from orgs o where id = $1', [id]),
    sql('select id, name from api_tokens where id = $1', [ids.token]),
  ])
  return JSON.stringify(parts)
}

/** The ids of the victim for the parameters of a path. */
function idsFor(e: Endpoint): Record<string, string> {
  const { ids } = victim
  const id = /\/(accept|reject)$/.test(e.path)
    ? ids.invitation
    : e.path.includes('/roles/')
      ? ids.role
      : e.path.includes('/deployments/')
        ? ids.deployment
        : e.path.includes('/api-tokens/')
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

async function attack(name: string, e: Endpoint, code: string, credential: string | null) {
  const response = await t.http.inject(requestFor(name, e, { ...idsFor(e), code }, credential))
  return { status: response.statusCode, leaks: response.body.includes(mark) }
}

const endpoints = endpointsOf(contract)
const ofOrgs = endpoints.filter(([, e]) => e.path.includes('{code}'))
const withIds = endpoints.filter(([, e]) =>
  /\{(id|squidId|reference|upload|muteId|channelId|deliveryId)\}/.test(e.path),
)
/** Their ids name chains and datasets, which all tenants share. */
const shared = ['rpc.getChain', 'portal.getDataset']

describe("in another tenant's organization", () => {
  test.each(ofOrgs)('%s finds nothing', async (name, e) => {
    const callers: [string, string | null, number][] = [
      ['a stranger', null, 401],
      ['an unverified guest', (await t.make.user({ emailVerified: false, email: victim.guest.email })).token, 405],
      ['an admin of another organization', attacker.admin.token, 404],
      ['an API token of that admin', await t.make.token(attacker.admin), e.needsSession ? 405 : 404],
    ]
    for (const [who, credential, status] of callers)
      expect([who, await attack(name, e, victim.code, credential)]).toEqual([who, { status, leaks: false }])
  })
})

describe("with another tenant's ids in one's own organization", () => {
  test.each(withIds.filter(([name]) => !shared.includes(name)))('%s finds nothing', async (name, e) => {
    expect(await attack(name, e, attacker.code, attacker.admin.token)).toEqual({ status: 404, leaks: false })
  })

  test('ids in bodies and queries find nothing either', async () => {
    const params = { code: attacker.code }
    const as = t.as(attacker.admin)
    const squidId = String(victim.squidId)
    expect(await as.deployments.list({ params, query: { squidId } })).toEqual([])
    expect(await as.deployments.list({ params, query: { before: '999999999' } })).toEqual([])
    expect(await as.squids.listMine({ query: { name: 'theirs' } })).toEqual([])
    expect(await as.squids.list({ params, query: { search: 'theirs' } })).toEqual([])
    await addSquid(attacker.id, 'own', 'own')
    const rollback = (deploymentId: number) =>
      as.squids
        .rollback({ params: { ...params, reference: 'own@v1' }, body: { deploymentId } })
        .catch((error: ApiError) => `${error.status} ${error.message.replace(String(deploymentId), 'N')}`)
    expect(await rollback(Number(victim.ids.deployment))).toBe(await rollback(999_999))
    expect(await rollback(999_999)).toMatch(/^40[45] /)
  })
})

test('the lists of an outsider contain nothing of the victim', async () => {
  for (const [name, e] of endpoints) {
    if (e.method !== 'GET' || e.path.includes('{') || e.kind !== 'json') continue
    expect([name, await attack(name, e, '', attacker.admin.token)]).toEqual([name, { status: 200, leaks: false }])
  }
})

test('the data of the victim is unchanged after all attacks', async () => {
  expect(await everythingOf(victim)).toBe(before)
  expect(before).toContain(mark)
  // Authorized callers do see the marker: otherwise the tests above could not have detected a leak.
  const own = await t.http.inject({
    url: `/api/v1/orgs/${victim.code}/squids`,
    headers: { authorization: `Bearer ${victim.admin.token}` },
  })
  expect(own.body).toContain(mark)
})
