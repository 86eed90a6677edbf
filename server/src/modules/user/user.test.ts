import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { days, minutes } from '../../clock.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { startSession } from '../auth/sessions.ts'
import { createUser, userJobs } from './index.ts'
import { deleteUnconfirmed } from './jobs.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const password = 'correct horse'

async function startAnotherSession(userId: number, userAgent: string) {
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

  test('has a full name, which the user can change within the rules of spec 5', async () => {
    const user = await t.make.user()
    expect(await t.as(user).user.update({ body: { fullName: ' Ada ' } })).toMatchObject({ fullName: 'Ada' })
    for (const [fullName, message] of [
      ['', 'Name is required'],
      ['a/b', 'Special symbols are not allowed'],
    ] as const)
      await expect(t.as(user).user.update({ body: { fullName } })).rejects.toMatchObject({ status: 400, message })
  })

  test('can be changed in a session, but not with an API token', async () => {
    const key = await t.make.token(await t.make.user())
    await expect(t.as(key).user.update({ body: { fullName: 'Ada' } })).rejects.toMatchObject({
      status: 405,
      body: { code: 'SESSION_NEEDED' },
    })
  })
})

describe('onboarding', () => {
  const onboardingForm = { occupation: 'Chief squid', source: ' Twitter ', usage: 'DeFi' }

  test('stores the accepted terms and the form answers independently', async () => {
    const user = t.as(await t.make.user({ isNew: true }))
    expect(await user.user.get()).toMatchObject({ policyAccepted: false, onboardingForm: null })
    await user.user.completeOnboarding({ body: { policyAccepted: true } })
    expect(await user.user.get()).toMatchObject({ policyAccepted: true, onboardingForm: null })
    await user.user.completeOnboarding({ body: { onboardingForm } })
    expect(await user.user.get()).toMatchObject({
      policyAccepted: true,
      onboardingForm: { ...onboardingForm, source: 'Twitter' },
    })
  })

  test('is available at the path of the specification, before the email is confirmed', async () => {
    const user = await t.make.user({ isNew: true, emailVerified: false })
    const response = await t.http.inject({
      method: 'PUT',
      url: '/api/user/onboarding',
      headers: { authorization: `Bearer ${user.token}` },
      payload: { policyAccepted: true, subscribeNewsletter: true },
    })
    expect(response.json()).toMatchObject({ payload: { policyAccepted: true } })
  })

  test('rejects an empty answer, and terms that are not accepted', async () => {
    const user = t.as(await t.make.user())
    const empty = { ...onboardingForm, usage: ' ' }
    await expect(user.user.completeOnboarding({ body: { onboardingForm: empty } })).rejects.toThrow('Usage is required')
    await expect(user.user.completeOnboarding({ body: { policyAccepted: false as unknown as true } })).rejects.toThrow(
      'Field must be checked',
    )
  })
})

describe('changing the password', () => {
  test('ends every other session and all API tokens, and the email lists them', async () => {
    const user = await t.make.user({ password })
    const other = await startAnotherSession(user.id, 'phone')
    const key = await t.make.token(user, { name: 'ci' })
    const result = await t.as(user).user.changePassword({
      body: { oldPassword: password, newPassword: 'battery staple' },
    })
    expect(result).toEqual({
      success: true,
      ended: { sessions: 1, apiTokens: [{ name: 'ci', prefix: key.slice(0, 10) }], providers: [] },
      providers: [],
    })
    await expect(t.as(user).user.get()).resolves.toMatchObject({ id: user.id })
    await expect(t.as(key).user.get()).rejects.toMatchObject({ status: 401 })
    await expect(t.as(other).user.get()).rejects.toMatchObject({ status: 401 })
    await expect(
      t.as(null).auth.signIn({ body: { email: user.email, password: 'battery staple' } }),
    ).resolves.toMatchObject({})
    const [mail] = await t.mails()
    expect(mail).toMatchObject({ to: user.email, subject: 'Your password was changed' })
    expect(mail?.text).toContain(`- Signed out: 1 session\n- Ended: API token ci (${key.slice(0, 10)}…)`)
  })

  test('keeps API tokens and providers on request, and the email lists them', async () => {
    const user = await t.make.user({ password })
    const key = await t.make.token(user, { name: 'ci' })
    await t.app.database.pool.query(
      `insert into oauth_identities (provider, subject, user_id, created_at) values ('github', 'kept-1', ${user.id}, now())`,
    )
    const body = { oldPassword: password, newPassword: 'battery staple', endApiTokens: false }
    expect(await t.as(user).user.changePassword({ body })).toMatchObject({
      ended: { apiTokens: [], providers: [] },
      providers: ['github'],
    })
    await expect(t.as(key).user.get()).resolves.toMatchObject({ id: user.id })
    const [mail] = await t.mails()
    expect(mail?.text).toContain(
      `- Signed out: 0 sessions\n- Still valid: API token ci (${key.slice(0, 10)}…)\n- Still valid: Sign-in with GitHub`,
    )
  })

  test('requires the old password', async () => {
    const user = await t.make.user({ password })
    const body = { oldPassword: 'guess', newPassword: 'battery staple' }
    await expect(t.as(user).user.changePassword({ body })).rejects.toMatchObject({
      status: 400,
      message: 'The current password is wrong',
      body: { invalidFields: [{ path: ['oldPassword'] }] },
    })
  })

  test('is limited to 20 calls in ten minutes, to prevent guessing the old password', async () => {
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
  test('are listed, and the current one is marked', async () => {
    const user = await t.make.user()
    t.clock.advance(minutes(5))
    await startAnotherSession(user.id, 'phone')
    const sessions = await t.as(user).user.listSessions()
    expect(sessions).toHaveLength(2)
    expect(sessions.find((s) => !s.isCurrent)).toMatchObject({ userAgent: 'phone', ip: '198.51.100.4' })
    // The request itself counts as activity.
    expect(sessions.find((s) => s.isCurrent)?.lastSeenAt).toBe(t.clock.now().toISOString())
  })

  test('can all be ended', async () => {
    const user = await t.make.user()
    const other = await startAnotherSession(user.id, 'phone')
    expect(await t.as(user).user.endSessions()).toEqual({ ended: 2 })
    for (const token of [user.token, other]) await expect(t.as(token).user.get()).rejects.toMatchObject({ status: 401 })
  })
})

describe('API tokens', () => {
  test('have a key that is returned once and works until the token is deleted', async () => {
    const user = await t.make.user()
    const created = await t.as(user).user.createApiToken({ body: { name: ' laptop ' } })
    expect(created).toMatchObject({ name: 'laptop', expiresAt: null, lastUsedAt: null })
    expect(created.token).toMatch(/^shoal_[\w-]{43}$/)
    expect(created.token.startsWith(created.prefix)).toBe(true)
    const { token, ...listed } = created
    expect(await t.as(user).user.listApiTokens()).toEqual([listed])
    await expect(t.as(token).user.get()).resolves.toMatchObject({ id: user.id })
    expect(await t.as(user).user.deleteApiToken({ params: { id: String(created.id) } })).toMatchObject({
      id: created.id,
    })
    await expect(t.as(token).user.get()).rejects.toMatchObject({ status: 401 })
  })

  test('have unique names per user; the error is on the field `name`', async () => {
    const user = t.as(await t.make.user())
    const other = t.as(await t.make.user())
    for (const owner of [user, other]) await owner.user.createApiToken({ body: { name: 'laptop' } })
    for (const name of ['laptop', ' '])
      await expect(user.user.createApiToken({ body: { name } })).rejects.toMatchObject({
        status: 400,
        message: 'Token name is required and must be unique',
        body: { invalidFields: [{ path: ['name'] }] },
      })
  })

  test('accept only an expiry in the future', async () => {
    const user = t.as(await t.make.user())
    const expiresAt = new Date(t.clock.now().getTime() + days(30)).toISOString()
    expect(await user.user.createApiToken({ body: { name: 'a', expiresAt } })).toMatchObject({ expiresAt })
    const past = t.clock.now().toISOString()
    await expect(user.user.createApiToken({ body: { name: 'b', expiresAt: past } })).rejects.toMatchObject({
      body: { invalidFields: [{ path: ['expiresAt'] }] },
    })
  })

  test('of another user cannot be listed or revoked', async () => {
    const created = await t.as(await t.make.user()).user.createApiToken({ body: { name: 'mine' } })
    const stranger = t.as(await t.make.user())
    expect(await stranger.user.listApiTokens()).toEqual([])
    for (const id of [String(created.id), '0', 'nonsense'])
      await expect(stranger.user.deleteApiToken({ params: { id } })).rejects.toMatchObject({ status: 404 })
    await expect(t.as(created.token).user.get()).resolves.toMatchObject({})
  })

  test('cannot create another API token', async () => {
    const key = await t.make.token(await t.make.user())
    await expect(t.as(key).user.createApiToken({ body: { name: 'more' } })).rejects.toMatchObject({ status: 405 })
  })
})

test('a confirmed email belongs to only one account', async () => {
  const { email } = await t.make.user()
  await expect(t.make.user({ email })).rejects.toMatchObject({
    status: 400,
    body: { invalidFields: [{ path: ['email'] }] },
  })
  await expect(t.make.user({ email, emailVerified: false })).resolves.toMatchObject({ email })
})

test('an account that was not confirmed for 30 days is deleted with its playground', async () => {
  const stale = await t.make.user({ emailVerified: false })
  const confirmed = await t.make.user()
  t.clock.advance(days(29))
  const fresh = await createUser(t.app, {
    email: 'fresh@example.com',
    fullName: 'Fresh',
    password: null,
    emailVerified: false,
  })
  await deleteUnconfirmed(t.app)
  const idsAndCodes = async () => {
    const { rows } = await t.app.database.pool.query<{ key: string }>(
      'select id::text as key from users union all select code from orgs',
    )
    return rows.map((row) => row.key)
  }
  expect(await idsAndCodes()).toContain(stale.playground.code)
  t.clock.advance(days(1) + 1)
  await deleteUnconfirmed(t.app)
  const remaining = await idsAndCodes()
  expect(remaining).not.toContain(String(stale.id))
  expect(remaining).not.toContain(stale.playground.code)
  expect(remaining).toEqual(expect.arrayContaining([String(confirmed.id), confirmed.playground.code, String(fresh.id)]))
  expect(userJobs(t.app).map((job) => job.name)).toEqual(['user.dropUnconfirmed'])
})
