import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hours, minutes } from '../../clock.ts'
import { authJobs } from '../auth/index.ts'
import { findOrgByCode } from '../orgs/index.ts'
import { startTestApp, type TestApp, type TestUser } from '../../testing/index.ts'

const password = 'a long enough password'
let t: TestApp
let operator: TestUser
beforeAll(async () => {
  t = await startTestApp()
  operator = await t.make.operator({ password })
})
afterAll(() => t?.close())
beforeEach(async () => {
  t.clock.advance(minutes(30))
  await t.as(operator).operators.confirmPassword({ body: { password } })
})

const api = () => t.as(operator).operators

test('a disabled account can neither use its session and tokens nor sign in, until it is enabled', async () => {
  const user = await t.make.user({ password })
  const token = await t.make.token(user)
  const params = { id: String(user.id) }
  const listed = async () => (await api().listUsers({ query: { search: user.email.toUpperCase() } })).users
  expect(await listed()).toMatchObject([{ id: user.id, sessions: 1, disabledAt: null, isOperator: false }])
  await api().disableUser({ params })
  for (const credential of [user.token, token])
    await expect(t.as(credential).user.get({})).rejects.toMatchObject({ status: 401 })
  const signIn = () => t.as(null).auth.signIn({ body: { email: user.email, password } })
  await expect(signIn()).rejects.toMatchObject({ status: 405, body: { code: 'ACCOUNT_DISABLED' } })
  expect(await listed()).toMatchObject([{ sessions: 0, disabledAt: t.clock.now().toISOString() }])
  await api().enableUser({ params })
  expect((await t.as((await signIn()).token).user.get({})).email).toBe(user.email)
  await t.as(token).user.get({})
  await expect(api().disableUser({ params: { id: String(operator.id) } })).rejects.toMatchObject({ status: 405 })
  for (const id of ['999999', '0x1', '-1', "1'"])
    await expect(api().disableUser({ params: { id } })).rejects.toMatchObject({ status: 404 })
})

test('an operator sends the confirmation email of an account again', async () => {
  const user = await t.make.user({ emailVerified: false })
  await api().resendConfirmation({ params: { id: String(user.id) } })
  await t.runJobs(authJobs(t.app))
  expect((await t.mails())[0]?.to).toBe(user.email)
  const params = { id: String(operator.id) }
  await expect(api().resendConfirmation({ params })).rejects.toMatchObject({ status: 405 })
})

test('what an operator does to an account is in the audit log of each organization of its user, and of no other', async () => {
  const first = await t.make.org()
  const second = await t.make.org()
  const other = await t.make.org()
  const user = await t.make.user({ emailVerified: false })
  for (const org of [first, second]) await t.make.member(org, 'viewer', user)
  const former = await t.make.member(other, 'viewer', user)
  await t.as(other.admin).orgs.removeMember({ params: { code: other.code, id: String(former.roleId) } })
  const params = { id: String(user.id) }
  await api().resendConfirmation({ params })
  const session = (await api().listSessions({ params })).sessions[0]
  await api().endSession({ params: { ...params, sessionId: session?.id ?? '' } })
  await api().endSessions({ params })
  await api().disableUser({ params })
  const disabledAt = t.clock.now().toISOString()
  await api().enableUser({ params })
  const { rows } = await t.app.database.pool.query<{ action: string; org_id: number }>(
    `select action, org_id, user_id, subject, before, after from audit_log
     where action like 'operators.%' and subject = $1 order by action, org_id`,
    [user.email],
  )
  const common = { user_id: operator.id, subject: user.email }
  const changes = [
    { action: 'operators.disableUser', before: { disabledAt: null }, after: { userId: user.id, endedSessions: 0 } },
    { action: 'operators.enableUser', before: { disabledAt }, after: { userId: user.id, disabledAt: null } },
    {
      action: 'operators.endSession',
      before: {
        userId: user.id,
        userAgent: session?.userAgent ?? null,
        ip: session?.ip ?? null,
        lastSeenAt: session?.lastSeenAt,
      },
      after: { ended: 1 },
    },
    { action: 'operators.endSessions', before: null, after: { userId: user.id, ended: 0 } },
    { action: 'operators.listSessions', before: null, after: null },
    { action: 'operators.resendConfirmation', before: null, after: { userId: user.id } },
  ]
  const playground = await findOrgByCode(t.app.db, user.playground.code)
  const orgIds = [playground?.id, first.id, second.id].toSorted((a, b) => Number(a) - Number(b))
  expect(rows).toEqual(changes.flatMap((change) => orgIds.map((org_id) => ({ ...common, ...change, org_id }))))
})

test('an operator sees the sessions of a user, and ends one or all of them', async () => {
  const user = await t.make.user({ password })
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  t.clock.advance(minutes(1))
  const signIn = (ip: string) =>
    t.as(null, { ip, userAgent: agent }).auth.signIn({ body: { email: user.email, password } })
  const [office, home] = [await signIn('203.0.113.7'), await signIn('203.0.113.8')]
  const params = { id: String(user.id) }
  const listed = async () => (await api().listSessions({ params })).sessions
  const all = await listed()
  expect(all.length).toBe(3)
  const found = all.find(({ ip }) => ip === '203.0.113.7')
  const at = t.clock.now().toISOString()
  expect(found).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    createdAt: at,
    lastSeenAt: at,
    userAgent: agent,
    ip: '203.0.113.7',
    isCurrent: false,
  })
  expect(await api().endSession({ params: { ...params, sessionId: found?.id ?? '' } })).toEqual({ ended: 1 })
  await expect(t.as(office.token).user.get({})).rejects.toMatchObject({ status: 401 })
  await t.as(home.token).user.get({})
  expect((await listed()).map(({ ip }) => ip)).not.toContain('203.0.113.7')
  const apiToken = await t.make.token(user)
  expect(await api().endSessions({ params })).toEqual({ ended: 2 })
  for (const token of [home.token, user.token])
    await expect(t.as(token).user.get({})).rejects.toMatchObject({ status: 401 })
  // API tokens are not sessions, and the user can sign in again.
  await t.as(apiToken).user.get({})
  await t.as((await signIn('203.0.113.9')).token).user.get({})
})

test('the session that an operator uses cannot be ended in the console, and unknown sessions are not found', async () => {
  const own = { id: String(operator.id) }
  const { sessions } = await api().listSessions({ params: own })
  const current = sessions.find(({ isCurrent }) => isCurrent)?.id ?? ''
  await expect(api().endSession({ params: { ...own, sessionId: current } })).rejects.toMatchObject({
    status: 405,
    body: { code: 'OWN_SESSION' },
  })
  await t.as(null).auth.signIn({ body: { email: operator.email, password } })
  expect((await api().endSessions({ params: own })).ended).toBeGreaterThan(0)
  expect((await api().listSessions({ params: own })).sessions).toMatchObject([{ id: current, isCurrent: true }])
  const user = await t.make.user()
  const { sessions: others } = await api().listSessions({ params: { id: String(user.id) } })
  const unknown = [
    { id: '999999', sessionId: others[0]?.id ?? '' },
    // The session of another user.
    { ...own, sessionId: others[0]?.id ?? '' },
    { id: String(user.id), sessionId: '00000000-0000-4000-8000-000000000000' },
    { id: String(user.id), sessionId: "1'" },
  ]
  for (const params of unknown) await expect(api().endSession({ params })).rejects.toMatchObject({ status: 404 })
  for (const id of ['999999', '0x1']) {
    await expect(api().listSessions({ params: { id } })).rejects.toMatchObject({ status: 404 })
    await expect(api().endSessions({ params: { id } })).rejects.toMatchObject({ status: 404 })
  }
  await t.as(user).user.get({})
})

test('all users see an announced maintenance until it ends or is withdrawn', async () => {
  const user = await t.make.user()
  const seen = async () => (await t.as(user).user.get({})).maintenance
  const startsAt = new Date(t.clock.now().getTime() + hours(1)).toISOString()
  const endsAt = new Date(t.clock.now().getTime() + hours(2)).toISOString()
  const body = { message: 'We replace a disk.', startsAt, endsAt, hasScreen: false }
  await api().announceMaintenance({ body })
  expect(await seen()).toEqual(body)
  await api().announceMaintenance({ body: { ...body, message: 'Two disks.' } })
  expect((await seen())?.message).toBe('Two disks.')
  await api().withdrawMaintenance({})
  expect(await seen()).toBeNull()
  await api().announceMaintenance({ body })
  t.clock.advance(hours(2))
  expect(await seen()).toBeNull()
  await api().confirmPassword({ body: { password } })
  const reversed = { body: { ...body, startsAt: endsAt, endsAt: startsAt } }
  await expect(api().announceMaintenance(reversed)).rejects.toMatchObject({ status: 400 })
})

test('during a maintenance window with the screen, only operators can enter the console', async () => {
  const user = await t.make.user()
  const enter = () => t.as(user).user.get({})
  const times = {
    startsAt: new Date(t.clock.now().getTime() + hours(1)).toISOString(),
    endsAt: new Date(t.clock.now().getTime() + hours(2)).toISOString(),
  }
  await api().announceMaintenance({ body: { message: 'We replace a disk.', ...times, hasScreen: true } })
  expect((await enter()).maintenance?.hasScreen).toBe(true)
  t.clock.advance(hours(1))
  await expect(enter()).rejects.toMatchObject({ status: 503, body: { code: 'MAINTENANCE' } })
  expect((await t.as(operator).user.get({})).maintenance?.hasScreen).toBe(true)
  t.clock.advance(hours(1))
  expect((await enter()).maintenance).toBeNull()
})
