import { afterAll, beforeAll, expect, test } from 'vitest'
import { authJobs } from '../modules/auth/index.ts'
import { solveBotCheck, startTestApp, type TestApp } from '../testing/index.ts'

type Row = {
  at: Date
  action: string
  user_id: number | null
  session_id: string | null
  api_token_id: number | null
  org_id: number | null
  ip: string
  request_id: string
  subject: string | null
  params: unknown
  before: unknown
  after: unknown
}

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const query = async (text: string) => (await t.app.database.pool.query<Row>(text)).rows
const rows = (action: string) => query(`select * from audit_log where action = '${action}' order by id`)

test('a change is recorded with its user, credential, IP address and time, and the values before and after it', async () => {
  const org = await t.make.org()
  const member = await t.make.member(org, 'viewer')
  const params = { code: org.code, id: String(member.roleId) }
  await t.as(org.admin, { ip: '203.0.113.5' }).orgs.changeRole({ params, body: { roleType: 'developer' } })
  const [row] = await rows('orgs.changeRole')
  expect(row).toMatchObject({
    at: t.clock.now(),
    user_id: org.admin.id,
    session_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    api_token_id: null,
    org_id: org.id,
    ip: '203.0.113.5',
    subject: member.email,
    params,
    before: { roleType: 'viewer' },
    after: { roleType: 'developer' },
  })
  expect(row?.request_id).toMatch(/^[0-9a-f-]{36}$/)
})

test('a change by an API token is recorded with the token', async () => {
  const org = await t.make.org()
  const created = await t.as(org.admin).user.createApiToken({ body: { name: 'ci', scope: 'admin' } })
  await t.as(created.token).orgs.update({ params: { code: org.code }, body: { name: 'New name' } })
  expect((await rows('orgs.update'))[0]).toMatchObject({
    user_id: org.admin.id,
    session_id: null,
    api_token_id: created.id,
    before: { name: org.name },
    after: { name: 'New name' },
  })
})

test('rejected requests and reads are not recorded', async () => {
  const org = await t.make.org()
  const viewer = await t.make.member(org, 'viewer')
  const before = await query('select id from audit_log')
  await t.as(viewer).orgs.get({ params: { code: org.code } })
  await expect(t.as(viewer).orgs.delete({ params: { code: org.code } })).rejects.toMatchObject({ status: 405 })
  await expect(t.as(null).auth.signIn({ body: { email: viewer.email, password: 'wrong one' } })).rejects.toMatchObject({
    status: 401,
  })
  expect(await query('select id from audit_log')).toEqual(before)
})

test('all changes of an account are recorded without passwords, tokens and links', async () => {
  const [email, password, newPassword] = ['audited@example.com', 'first password', 'second password']
  const { token } = await t.as(null).auth.signUp({
    body: { email, password, fullName: 'Audited', turnstileToken: await solveBotCheck(t) },
  })
  await t.runJobs(authJobs(t.app))
  const link = new URL(/http\S+/.exec((await t.mails())[0]?.text ?? '')?.[0] ?? 'http://none')
  const code = link.searchParams.get('code') ?? ''
  await t.as(token).auth.confirmEmail({ body: { code } })
  const { id } = await t.as(token).user.get()
  await t.as(token).user.changePassword({ body: { oldPassword: password, newPassword: newPassword } })
  const apiToken = await t.as(token).user.createApiToken({ body: { name: 'laptop' } })
  await t.as(token).user.deleteApiToken({ params: { id: String(apiToken.id) } })
  const newSession = await t.as(null).auth.signIn({ body: { email, password: newPassword } })
  await t.as(newSession.token).auth.signOut()
  await t.as(token).user.endSessions()
  const recorded = await query(`select * from audit_log where user_id = ${id} order by id`)
  expect(recorded.map((row) => row.action)).toEqual([
    'auth.signUp',
    'auth.confirmEmail',
    'user.changePassword',
    'user.createApiToken',
    'user.deleteApiToken',
    'auth.signIn',
    'auth.signOut',
    'user.endSessions',
  ])
  const text = JSON.stringify(recorded)
  for (const secret of [password, newPassword, apiToken.token, token, code]) expect(text).not.toContain(secret)
})

test.each(["update audit_log set subject = 'other'", 'delete from audit_log', 'truncate audit_log'])(
  'the log is append-only: "%s" fails',
  async (change) => {
    await expect(query(change)).rejects.toThrow('audit_log is append-only')
  },
)
