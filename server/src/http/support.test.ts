import { contract, endpointsOf, type Endpoint } from '@shoal/contract'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hours, minutes } from '../clock.ts'
import { requestFor } from '../testing/contract-samples.ts'
import { startTestApp, type TestApp, type TestOrg, type TestUser } from '../testing/index.ts'
import { isForSupport } from './support.ts'

const password = 'a long enough password'
/** A marker in every secret value of the organization. Support must never read it. */
const marker = 'x7confidential7x'
let t: TestApp
let org: TestOrg
let operator: TestUser
let rpcToken: string

beforeAll(async () => {
  t = await startTestApp()
  org = await t.make.org({ code: 'supported' })
  operator = await t.make.operator({ password })
  const asAdmin = t.as(org.admin)
  const params = { code: org.code }
  await asAdmin.secrets.change({ params, body: { secrets: [{ action: 'UPDATE', name: 'KEY', value: marker }] } })
  rpcToken = (await asAdmin.rpc.getToken({ params })).token
  const url = `https://hooks.example.com/${marker}`
  await asAdmin.alerts.addChannel({ params, body: { type: 'webhook', name: 'hook', url } })
  const { rows } = await t.app.database.pool.query<{ id: number }>(
    `insert into squids (org_id, name, slot, image, created_at) values ($1, 'read', 'v1', 'an image', now()) returning id`,
    [org.id],
  )
  const id = rows[0]?.id ?? 0
  const sealed = t.app.sealer.seal(marker, `squid ${id} database`)
  await t.app.database.pool.query(
    `insert into squid_databases (squid_id, database, role, sealed_password, read_role, sealed_read_password, version, profile, total_bytes)
     values ($1, 'sq_1', 'sq_1', $2, 'sq_1_read', $2, '17', 'small', 1000)`,
    [id, sealed],
  )
})
afterAll(() => t?.close())
// Avoids rate limits.
beforeEach(() => t.clock.advance(hours(1)))

const open = async (code = org.code) => {
  await t.as(operator).operators.confirmPassword({ body: { password } })
  return await t.as(operator).operators.openSupport({ params: { code } })
}

/** Calls an endpoint as the operator. The body of a stream that does not end is not read. */
async function call(name: string, e: Endpoint, code = org.code): Promise<{ status: number; body: string }> {
  const request = requestFor(name, e, { code, reference: 'read@v1' }, operator.token)
  if (e.kind !== 'lines') {
    const { statusCode, body } = await t.http.inject(request)
    return { status: statusCode, body }
  }
  const { statusCode, stream } = await t.http.inject({ ...request, payloadAsStream: true })
  if (statusCode >= 400) return { status: statusCode, body: Buffer.concat(await stream().toArray()).toString() }
  stream().destroy()
  return { status: statusCode, body: '' }
}

/** Opens support as `open` does, or closes it if `orgId` is null. Confirms the password without hashing it, which is slow. */
async function setSupport(orgId: number | null): Promise<void> {
  const now = t.clock.now()
  const until = new Date(now.getTime() + minutes(30))
  await t.app.database.pool.query(
    'update sessions set password_at = $2, support_org_id = $3, support_until = $4 where user_id = $1',
    [operator.id, now, orgId, orgId === null ? null : until],
  )
}

/** Returns all rows of the organization as text, except its audit log, which records the beginning and end of support. */
async function rowsOfOrg(): Promise<string[]> {
  const { pool } = t.app.database
  const { rows: tables } = await pool.query<{ name: string }>(
    `select table_name as name from information_schema.columns
     where table_schema = 'public' and column_name = 'org_id' and table_name <> 'audit_log' order by 1`,
  )
  const rowTexts: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`select t::text as row from "${name}" t where org_id = $1`, [
      org.id,
    ])
    rowTexts.push(...rows.map(({ row }) => `${name} ${row}`).toSorted())
  }
  const { rows } = await pool.query<{ row: string }>('select t::text as row from orgs t where id = $1', [org.id])
  return [...rowTexts, ...rows.map(({ row }) => row)]
}

test('support may call exactly the listed endpoints of the organization; none reveals a password, token or secret', async () => {
  const secrets = [marker, rpcToken]
  const inOrg = endpointsOf(contract).filter(([, e]) => e.path.startsWith('/v1/orgs/{code}') && e.access !== 'verified')
  const outcomes: Record<string, string> = {}
  const expected: Record<string, string> = {}
  for (const [name, e] of inOrg) {
    t.clock.advance(hours(1))
    await open()
    const { status, body } = await call(name, e)
    for (const secret of secrets) expect([name, body.includes(secret)]).toEqual([name, false])
    expect([name, status < 500]).toEqual([name, true])
    const { code = '' } = status < 400 ? {} : (JSON.parse(body) as { code?: string })
    outcomes[name] = code === 'SUPPORT' ? 'refused' : status === 405 ? `405 ${code}` : 'admitted'
    expected[name] = isForSupport(name) ? 'admitted' : 'refused'
  }
  expect(outcomes).toEqual(expected)
})

test('every other endpoint responds as without support, and reveals nothing of the organization', async () => {
  const others = endpointsOf(contract).filter(
    ([, e]) => !e.path.startsWith('/v1/orgs/{code}') || e.access === 'verified',
  )
  // These end the session, or open and close support.
  const ownSession = ['auth.signOut', 'user.endSessions', 'operators.openSupport', 'operators.closeSupport']
  const called: string[] = []
  await setSupport(org.id)
  expect(await t.as(operator).orgs.get({ params: { code: org.code } })).toMatchObject({ roleType: 'viewer' })
  const before = await rowsOfOrg()
  expect(before.length).toBeGreaterThan(3)
  for (const [name, e] of others.filter(([name]) => !ownSession.includes(name))) {
    const statuses: number[] = []
    // The first call may create something, so only the second and third call find the same state.
    for (const isSupporting of [false, false, true]) {
      t.clock.advance(hours(1))
      await setSupport(isSupporting ? org.id : null)
      // Operators may change organizations through these endpoints, so the code names no existing organization.
      const code = e.access.startsWith('operator') ? 'none' : org.code
      const { status, body } = await call(name, e, code)
      for (const secret of [marker, rpcToken]) expect([name, body.includes(secret)]).toEqual([name, false])
      statuses.push(status)
    }
    expect([name, statuses[2]]).toEqual([name, statuses[1]])
    for (const status of statuses) expect([name, status < 500]).toEqual([name, true])
    called.push(name)
  }
  expect(await rowsOfOrg()).toEqual(before)
  expect([...called, ...ownSession].toSorted()).toEqual(others.map(([name]) => name).toSorted())
  await open()
  expect((await t.as(operator).orgs.list()).map(({ code }) => code)).not.toContain(org.code)
  // `user.get` also lists the organization that support reads, so that the console can show it.
  const { organizations } = await t.as(operator).user.get({})
  expect(organizations.find(({ code }) => code === org.code)).toMatchObject({ roleType: 'viewer' })
})

test('no endpoint of support changes anything, needs a permission or sends a file', () => {
  const listed = endpointsOf(contract).filter(([name]) => isForSupport(name))
  for (const [name, { access, isChange, kind }] of listed)
    expect([name, access, isChange, kind === 'file']).toEqual([name, 'member', false, false])
})

test('support ends after 30 minutes, when it is closed, and when the user is no longer an operator; it reads only one organization, in one session', async () => {
  const other = await t.make.org()
  const get = (code: string, caller = operator.token) => t.as(caller).orgs.get({ params: { code } })
  await expect(get(org.code)).rejects.toMatchObject({ status: 404 })
  const { until } = await open()
  expect(await get(org.code)).toMatchObject({ code: org.code, roleType: 'viewer' })
  expect(await t.as(operator).user.get({})).toMatchObject({ support: { code: org.code, until } })
  await expect(get(other.code)).rejects.toMatchObject({ status: 404 })
  const { token } = await t.as(null).auth.signIn({ body: { email: operator.email, password } })
  await expect(get(org.code, token)).rejects.toMatchObject({ status: 404 })
  await expect(get(org.code, await t.make.token(operator))).rejects.toMatchObject({ status: 404 })
  await open(other.code)
  await expect(get(org.code)).rejects.toMatchObject({ status: 404 })
  await t.as(operator).operators.closeSupport({})
  await expect(get(other.code)).rejects.toMatchObject({ status: 404 })
  await open()
  t.clock.advance(minutes(30))
  await expect(get(org.code)).rejects.toMatchObject({ status: 404 })
  expect((await t.as(operator).user.get({})).support).toBeNull()
  const former = await t.make.operator({ password })
  await t.as(former).operators.confirmPassword({ body: { password } })
  await t.as(former).operators.openSupport({ params: { code: org.code } })
  await t.app.database.pool.query('update users set is_operator = false where id = $1', [former.id])
  await expect(get(org.code, former.token)).rejects.toMatchObject({ status: 404 })
})

test('support is recorded in the audit log of the organization', async () => {
  const audited = await t.make.org()
  await open(audited.code)
  await t.as(operator).operators.closeSupport({})
  const { rows } = await t.app.database.pool.query(
    'select action, user_id from audit_log where org_id = $1 and action like $2 order by id',
    [audited.id, 'operators.%'],
  )
  expect(rows).toEqual([
    { action: 'operators.openSupport', user_id: operator.id },
    { action: 'operators.closeSupport', user_id: operator.id },
  ])
})
