import { afterAll, beforeAll, expect, test } from 'vitest'
import { addUser, resetUserPassword, type CliOptions } from './commands.ts'
import { days } from '../clock.ts'
import { operatorAuth, passwords } from '../modules/auth/index.ts'
import { startTestApp, type TestApp } from '../testing/index.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const signIn = (email: string, password: string) => t.as(null).auth.signIn({ body: { email, password } })
const expired = { status: 405, body: { code: 'PASSWORD_EXPIRED' } }
const add = async (email: string, password?: string) =>
  (await addUser(t.app, { email, name: 'Ada', ...(password && { password }) } as CliOptions)) as {
    password?: string
    passwordExpiresAt?: Date
  }

test('a password that the operator’s command generated signs its user in for a week', async () => {
  const { password = '', passwordExpiresAt } = await add('week@example.com')
  expect(Buffer.from(password, 'base64url')).toHaveLength(16)
  t.clock.advance(days(7) - 1000)
  expect(passwordExpiresAt?.getTime()).toBe(t.clock.now().getTime() + 1000)
  const { token } = await signIn('week@example.com', password)
  t.clock.advance(1000)
  await expect(signIn('week@example.com', password)).rejects.toMatchObject(expired)
  await operatorAuth.setOperator(t.app.db, 'week@example.com', true)
  await expect(t.as(token).operators.confirmPassword({ body: { password } })).rejects.toMatchObject(expired)
  // A wrong password does not reveal that the account has an expired one.
  await expect(signIn('week@example.com', 'wrong one')).rejects.toMatchObject({ status: 401 })
})

test('a password that the user chose does not expire: after a change, or if the operator’s command read it', async () => {
  const { password: generated = '' } = await add('changed@example.com')
  const { token } = await signIn('changed@example.com', generated)
  await t.as(token).user.changePassword({ body: { oldPassword: generated, newPassword: 'my own password' } })
  expect((await add('given@example.com', 'typed by the user')).passwordExpiresAt).toBeUndefined()
  t.clock.advance(days(100))
  await signIn('changed@example.com', 'my own password')
  await signIn('given@example.com', 'typed by the user')
})

test('a password that the previous release stored does not expire, although that release keeps the expiry', async () => {
  await add('rolled-back@example.com')
  const chosen = await passwords.hash('my own password')
  await t.app.database.pool.query('update users set password_hash = $1 where email = $2', [
    chosen,
    'rolled-back@example.com',
  ])
  t.clock.advance(days(7))
  expect((await signIn('rolled-back@example.com', 'my own password')).token).toBeTruthy()
})

test('a user cannot keep a generated password by changing it to itself', async () => {
  const { password = '' } = await add('kept@example.com')
  const { token } = await signIn('kept@example.com', password)
  const body = { oldPassword: password, newPassword: password }
  await expect(t.as(token).user.changePassword({ body })).rejects.toMatchObject({
    status: 400,
    body: { invalidFields: [{ path: ['newPassword'], message: 'Choose a password other than the current one' }] },
  })
  t.clock.advance(days(7))
  await expect(signIn('kept@example.com', password)).rejects.toMatchObject(expired)
})

test('a user who tried too many wrong passwords can sign in with a password that the operator generated', async () => {
  await add('locked@example.com', 'forgotten password')
  const tries = () => signIn('locked@example.com', 'wrong one')
  for (let n = 0; n < 20; n++) await expect(tries()).rejects.toMatchObject({ status: 401 })
  await expect(tries()).rejects.toMatchObject({ status: 429 })
  const { password } = (await resetUserPassword(t.app, { email: 'locked@example.com' } as CliOptions)) as {
    password: string
  }
  await signIn('locked@example.com', password)
})

test('the operator can generate another password, which ends everything else that gives access to the account', async () => {
  await add('lost@example.com', 'forgotten password')
  const { token: session } = await signIn('lost@example.com', 'forgotten password')
  const { token } = await t.as(session).user.createApiToken({ body: { name: 'laptop', expiresAt: null } })
  const { password } = (await resetUserPassword(t.app, { email: 'Lost@example.com' } as CliOptions)) as {
    password: string
  }
  // Each user has a playground, so there is at least one row. No user is its actor.
  const { rows } = await t.app.db.execute(
    "select user_id, org_id is not null as has_org, after->>'userId' as reset from audit_log where action = 'cli.resetPassword' and subject = 'lost@example.com'",
  )
  expect(rows).toEqual([{ user_id: null, has_org: true, reset: expect.any(String) as string }])
  for (const credential of [session, token])
    await expect(t.as(credential).user.get()).rejects.toMatchObject({ status: 401 })
  await expect(signIn('lost@example.com', 'forgotten password')).rejects.toMatchObject({ status: 401 })
  await signIn('lost@example.com', password)
  t.clock.advance(days(7))
  await expect(signIn('lost@example.com', password)).rejects.toMatchObject(expired)
  await expect(resetUserPassword(t.app, { email: 'unknown@example.com' } as CliOptions)).rejects.toThrow(
    'There is no user',
  )
})
