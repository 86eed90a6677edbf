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
    { action: 'operators.disableUser', before: { disabledAt: null }, after: { userId: user.id, endedSessions: 1 } },
    { action: 'operators.enableUser', before: { disabledAt }, after: { userId: user.id, disabledAt: null } },
    { action: 'operators.resendConfirmation', before: null, after: { userId: user.id } },
  ]
  const playground = await findOrgByCode(t.app.db, user.playground.code)
  const orgIds = [playground?.id, first.id, second.id].toSorted((a, b) => Number(a) - Number(b))
  expect(rows).toEqual(changes.flatMap((change) => orgIds.map((org_id) => ({ ...common, ...change, org_id }))))
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

test('during a maintenance with the screen, only operators can enter the console', async () => {
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
