import { afterAll, beforeAll, expect, test } from 'vitest'
import { hours, minutes } from '../../clock.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { authJobs } from './index.ts'
import { consumeAttempt } from './sign-in-attempts.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

async function restoreToken(email: string): Promise<string> {
  await t.as(null).auth.restore({ body: { email } })
  await t.runJobs(authJobs(t.app))
  const mail = (await t.mails()).find(({ to, subject }) => to === email && subject === 'Set a new password')
  return /\/restore\/confirm\/(\S+)/.exec(mail?.text ?? '')?.[1] ?? ''
}

const confirm = (token: string, password: string) => t.as(null).auth.confirmRestore({ body: { token, password } })
const signIn = (email: string, password: string) => t.as(null).auth.signIn({ body: { email, password } })
const invalidLink = { status: 400, body: { code: 'LINK_INVALID' } }

test('the emailed link sets a new password, once, and ends every session', async () => {
  const user = await t.make.user({ email: 'forgot@example.com', password: 'forgotten one' })
  const token = await restoreToken('forgot@example.com')
  expect(await confirm(token, 'remembered')).toMatchObject({ success: true })
  await expect(t.as(user).user.get()).rejects.toMatchObject({ status: 401 })
  await expect(signIn('forgot@example.com', 'forgotten one')).rejects.toMatchObject({ status: 401 })
  await expect(signIn('forgot@example.com', 'remembered')).resolves.toMatchObject({})
  await expect(confirm(token, 'and again')).rejects.toMatchObject(invalidLink)
  expect((await t.mails())[0]).toMatchObject({ to: 'forgot@example.com', subject: 'Your password was changed' })
})

test('recovering an account ends its API tokens and providers; the response and the email list them', async () => {
  const user = await t.make.user({ email: 'stolen@example.com', password: 'known to others' })
  const key = await t.make.token(user, { name: 'backdoor' })
  await t.app.database.pool.query(
    `insert into oauth_identities (provider, subject, user_id, created_at) values ('google', 'g-stolen', ${user.id}, now())`,
  )
  const apiToken = { name: 'backdoor', prefix: key.slice(0, 10) }
  expect(await confirm(await restoreToken('stolen@example.com'), 'remembered')).toEqual({
    success: true,
    ended: { sessions: 1, apiTokens: [apiToken], providers: ['google'] },
  })
  await expect(t.as(key).user.get()).rejects.toMatchObject({ status: 401 })
  await expect(t.as(user).user.get()).rejects.toMatchObject({ status: 401 })
  const { rows } = await t.app.database.pool.query(`select 1 from oauth_identities where user_id = ${user.id}`)
  expect(rows).toEqual([])
  expect((await t.mails())[0]?.text).toContain(
    `- Signed out: 1 session\n- Ended: API token backdoor (${apiToken.prefix}…)\n- Ended: Sign-in with Google`,
  )
})

test('of two concurrent uses of a link, one fails', async () => {
  await t.make.user({ email: 'race@example.com', password: 'old password' })
  const token = await restoreToken('race@example.com')
  const results = await Promise.allSettled([confirm(token, 'password a'), confirm(token, 'password b')])
  expect(results.map((r) => r.status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

test('using one link invalidates the others', async () => {
  await t.make.user({ email: 'twice@example.com' })
  const first = await restoreToken('twice@example.com')
  const second = await restoreToken('twice@example.com')
  await confirm(second, 'new password')
  await expect(confirm(first, 'other password')).rejects.toMatchObject(invalidLink)
})

test('the link expires after an hour, and a made-up one is invalid', async () => {
  await t.make.user({ email: 'slow@example.com' })
  const token = await restoreToken('slow@example.com')
  t.clock.advance(hours(1))
  await expect(confirm(token, 'new password')).rejects.toMatchObject(invalidLink)
  await expect(confirm('made-up', 'new password')).rejects.toMatchObject(invalidLink)
})

test('a request for an unknown email returns the same response and sends no email', async () => {
  const before = await t.mails()
  expect(await t.as(null).auth.restore({ body: { email: 'unknown@example.com' } })).toEqual({ success: true })
  await t.runJobs(authJobs(t.app))
  expect(await t.mails()).toHaveLength(before.length)
})

test('using a link also confirms the email', async () => {
  await t.make.user({ email: 'unconfirmed@example.com', emailVerified: false })
  await confirm(await restoreToken('unconfirmed@example.com'), 'new password')
  const { token } = await signIn('unconfirmed@example.com', 'new password')
  expect(await t.as(token).user.get()).toMatchObject({ emailVerified: true })
})

test('an owner who is locked out by failed attempts of others can sign in immediately after using the link', async () => {
  const { id } = await t.make.user({ email: 'locked@example.com', password: 'old password' })
  for (let n = 0; n < 80; n++)
    await consumeAttempt(t.app, { email: 'locked@example.com', ownerId: id, ip: `10.0.0.${n}` })
  await expect(signIn('locked@example.com', 'old password')).rejects.toMatchObject({ status: 429 })
  await confirm(await restoreToken('locked@example.com'), 'new password')
  await expect(signIn('locked@example.com', 'new password')).resolves.toMatchObject({})
})

test('a new password must follow the rules of spec 5', async () => {
  t.clock.advance(minutes(10))
  await expect(confirm('anything', 'short')).rejects.toMatchObject({ message: 'Must be at least 8 characters' })
  await expect(confirm('', 'long enough')).rejects.toMatchObject({ message: 'Token is required' })
})
