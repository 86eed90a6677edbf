import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { days, minutes } from '../../clock.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { startSession } from '../auth/index.ts'
import { createUser, userJobs } from './index.ts'
import { deleteUnconfirmed } from './jobs.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const password = 'correct horse'

async function anotherSession(userId: number, userAgent: string) {
  return startSession(t.app, t.app.db, userId, { userAgent, ip: '198.51.100.4' })
}

describe('the profile', () => {
  test('lists organizations with the playground first, then by displayed name', async () => {
    const user = await t.make.user()
    for (const name of ['zebra', 'Ant', 'bee']) await t.make.org({ name, admin: user })
    const { organizations } = await t.as(user).user.get()
    expect(organizations.map((org) => org.name)).toEqual(['Playground', 'Ant', 'bee', 'zebra'])
    expect(await t.as(user).orgs.list()).toEqual(organizations)
  })

  test('changes the full name, with the rules of spec 5', async () => {
    const user = await t.make.user()
    expect(await t.as(user).user.update({ body: { fullName: ' Ada ' } })).toMatchObject({ fullName: 'Ada' })
    for (const [fullName, message] of [
      ['', 'Name is required'],
      ['a/b', 'Special symbols are not allowed'],
    ] as const)
      await expect(t.as(user).user.update({ body: { fullName } })).rejects.toMatchObject({ status: 400, message })
  })

  test('requires a session: an API token is not enough', async () => {
    const key = await t.make.token(await t.make.user())
    await expect(t.as(key).user.update({ body: { fullName: 'Ada' } })).rejects.toMatchObject({
      status: 405,
      body: { code: 'SESSION_NEEDED' },
    })
  })
})

describe('onboarding', () => {
  const onboardingForm = { occupation: 'Chief squid', source: ' Twitter ', usage: 'DeFi' }

  test('accepts the terms and keeps the answers, each on its own', async () => {
    const user = t.as(await t.make.user({ isNewcomer: true }))
    expect(await user.user.get()).toMatchObject({ policyAccepted: false, onboardingForm: null })
    await user.user.completeOnboarding({ body: { policyAccepted: true } })
    expect(await user.user.get()).toMatchObject({ policyAccepted: true, onboardingForm: null })
    await user.user.completeOnboarding({ body: { onboardingForm } })
    expect(await user.user.get()).toMatchObject({
      policyAccepted: true,
      onboardingForm: { ...onboardingForm, source: 'Twitter' },
    })
  })

  test('works by the path of the spec, before the email is confirmed', async () => {
    const user = await t.make.user({ isNewcomer: true, emailVerified: false })
    const response = await t.http.inject({
      method: 'PUT',
      url: '/api/user/onboarding',
      headers: { authorization: `Bearer ${user.token}` },
      payload: { policyAccepted: true, subscribeNewsletter: true },
    })
    expect(response.json()).toMatchObject({ payload: { policyAccepted: true } })
  })

  test('an answer may not be empty, and terms cannot be taken back', async () => {
    const user = t.as(await t.make.user())
    const empty = { ...onboardingForm, usage: ' ' }
    await expect(user.user.completeOnboarding({ body: { onboardingForm: empty } })).rejects.toThrow('Usage is required')
    await expect(user.user.completeOnboarding({ body: { policyAccepted: false as unknown as true } })).rejects.toThrow(
      'Field must be checked',
    )
  })
})

describe('changing the password', () => {
  test('ends every other session and notifies the owner, but keeps API tokens', async () => {
    const user = await t.make.user({ password })
    const other = await anotherSession(user.id, 'phone')
    const key = await t.make.token(user)
    await t.as(user).user.changePassword({ body: { oldPassword: password, newPassword: 'battery staple' } })
    await expect(t.as(user).user.get()).resolves.toMatchObject({ id: user.id })
    await expect(t.as(key).user.get()).resolves.toMatchObject({ id: user.id })
    await expect(t.as(other).user.get()).rejects.toMatchObject({ status: 401 })
    await expect(
      t.as(null).auth.signIn({ body: { email: user.email, password: 'battery staple' } }),
    ).resolves.toMatchObject({})
    expect((await t.mails())[0]).toMatchObject({ to: user.email, subject: 'Your password was changed' })
  })

  test('requires the old one', async () => {
    const user = await t.make.user({ password })
    const body = { oldPassword: 'guess', newPassword: 'battery staple' }
    await expect(t.as(user).user.changePassword({ body })).rejects.toMatchObject({
      status: 400,
      message: 'The current password is wrong',
      body: { invalidFields: [{ path: ['oldPassword'] }] },
    })
  })

  test('may fail 20 times in ten minutes: limits guessing in a borrowed browser', async () => {
    const user = t.as(await t.make.user())
    const call = () => user.user.changePassword({ body: { oldPassword: 'guess', newPassword: 'battery staple' } })
    for (let n = 0; n < 20; n++)
      await expect(call()).rejects.toMatchObject({ status: 405, body: { code: 'NO_PASSWORD' } })
    await expect(call()).rejects.toMatchObject({ status: 429 })
    t.clock.advance(minutes(10))
    await expect(call()).rejects.toMatchObject({ status: 405 })
  })
})

describe('sessions', () => {
  test('are listed with the current one, most recently seen first', async () => {
    const user = await t.make.user()
    t.clock.advance(minutes(5))
    await anotherSession(user.id, 'phone')
    const sessions = await t.as(user).user.listSessions()
    // The request itself counts as activity.
    expect(sessions).toHaveLength(2)
    expect(sessions.find((s) => !s.isCurrent)).toMatchObject({ userAgent: 'phone', ip: '198.51.100.4' })
    expect(sessions.find((s) => s.isCurrent)?.lastSeenAt).toBe(t.clock.now().toISOString())
  })

  test('can all be ended', async () => {
    const user = await t.make.user()
    const other = await anotherSession(user.id, 'phone')
    expect(await t.as(user).user.endSessions()).toEqual({ ended: 2 })
    for (const token of [user.token, other]) await expect(t.as(token).user.get()).rejects.toMatchObject({ status: 401 })
  })
})

describe('API tokens', () => {
  test('the key is returned once, and works until it is revoked', async () => {
    const user = await t.make.user()
    const made = await t.as(user).user.createApiToken({ body: { name: ' laptop ' } })
    expect(made).toMatchObject({ name: 'laptop', expiresAt: null, lastUsedAt: null })
    expect(made.token).toMatch(/^shoal_[\w-]{43}$/)
    expect(made.token.startsWith(made.prefix)).toBe(true)
    const { token, ...listed } = made
    expect(await t.as(user).user.listApiTokens()).toEqual([listed])
    await expect(t.as(token).user.get()).resolves.toMatchObject({ id: user.id })
    expect(await t.as(user).user.deleteApiToken({ params: { id: String(made.id) } })).toMatchObject({ id: made.id })
    await expect(t.as(token).user.get()).rejects.toMatchObject({ status: 401 })
  })

  test('names are unique for one user; the error is on the name', async () => {
    const user = t.as(await t.make.user())
    const other = t.as(await t.make.user())
    for (const person of [user, other]) await person.user.createApiToken({ body: { name: 'laptop' } })
    for (const name of ['laptop', ' '])
      await expect(user.user.createApiToken({ body: { name } })).rejects.toMatchObject({
        status: 400,
        message: 'Token name is required and must be unique',
        body: { invalidFields: [{ path: ['name'] }] },
      })
  })

  test('expire in the future', async () => {
    const user = t.as(await t.make.user())
    const expiresAt = new Date(t.clock.now().getTime() + days(30)).toISOString()
    expect(await user.user.createApiToken({ body: { name: 'a', expiresAt } })).toMatchObject({ expiresAt })
    const past = t.clock.now().toISOString()
    await expect(user.user.createApiToken({ body: { name: 'b', expiresAt: past } })).rejects.toMatchObject({
      body: { invalidFields: [{ path: ['expiresAt'] }] },
    })
  })

  test("another user's cannot be seen or revoked", async () => {
    const made = await t.as(await t.make.user()).user.createApiToken({ body: { name: 'mine' } })
    const stranger = t.as(await t.make.user())
    expect(await stranger.user.listApiTokens()).toEqual([])
    for (const id of [String(made.id), '0', 'nonsense'])
      await expect(stranger.user.deleteApiToken({ params: { id } })).rejects.toMatchObject({ status: 404 })
    await expect(t.as(made.token).user.get()).resolves.toMatchObject({})
  })

  test('cannot create another API token', async () => {
    const key = await t.make.token(await t.make.user())
    await expect(t.as(key).user.createApiToken({ body: { name: 'more' } })).rejects.toMatchObject({ status: 405 })
  })
})

test('a confirmed email has one account', async () => {
  const { email } = await t.make.user()
  await expect(t.make.user({ email })).rejects.toMatchObject({
    status: 400,
    body: { invalidFields: [{ path: ['email'] }] },
  })
  await expect(t.make.user({ email, emailVerified: false })).resolves.toMatchObject({ email })
})

test('an account that was not confirmed for 30 days is deleted with its playground', async () => {
  const stale = await t.make.user({ emailVerified: false })
  const kept = await t.make.user()
  t.clock.advance(days(29))
  const fresh = await createUser(t.app, {
    email: 'fresh@example.com',
    fullName: 'Fresh',
    password: null,
    emailVerified: false,
  })
  await deleteUnconfirmed(t.app)
  const idsAndCodes = async () => {
    const { rows } = await t.app.database.pool.query<{ known: string }>(
      'select id::text as known from users union all select code from orgs',
    )
    return rows.map((row) => row.known)
  }
  expect(await idsAndCodes()).toContain(stale.playground.code)
  t.clock.advance(days(1) + 1)
  await deleteUnconfirmed(t.app)
  const left = await idsAndCodes()
  expect(left).not.toContain(String(stale.id))
  expect(left).not.toContain(stale.playground.code)
  expect(left).toEqual(expect.arrayContaining([String(kept.id), kept.playground.code, String(fresh.id)]))
  expect(userJobs(t.app).map((job) => job.name)).toEqual(['user.dropUnconfirmed'])
})
