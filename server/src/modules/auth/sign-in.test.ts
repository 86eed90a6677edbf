import { afterAll, beforeAll, expect, test } from 'vitest'
import { days, hours } from '../../clock.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { consumeAttempt } from './sign-in-attempts.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const password = 'correct horse'
const wrongCredentials = { status: 401, message: 'Wrong email and/or password' }
const tooMany = { status: 429, body: { code: 'TOO_MANY_REQUESTS' } }

const signIn = (email: string, enteredPassword = password, ip = '127.0.0.1') =>
  t.as(null, { ip }).auth.signIn({ body: { email, password: enteredPassword } })

test('the correct password signs the user in; the case of the email does not matter', async () => {
  const user = await t.make.user({ email: 'ada@example.com', password })
  const { token } = await signIn('ADA@example.com ')
  expect(await t.as(token).user.get()).toMatchObject({ id: user.id })
})

test('the password is stored as an Argon2id hash with 19 MiB and two passes', async () => {
  const user = await t.make.user({ password })
  const { rows } = await t.app.database.pool.query<{ text: string }>(
    'select row_to_json(users)::text as text from users where id = $1',
    [user.id],
  )
  expect(rows[0]?.text).toContain('"$argon2id$v=19$m=19456,t=2,p=1$')
  expect(rows[0]?.text).not.toContain(password)
})

test('a wrong password, an unknown email and an account without a password cause the same response', async () => {
  await t.make.user({ email: 'known@example.com', password })
  await t.make.user({ email: 'no-password@example.com' })
  const responses = []
  for (const email of ['known@example.com', 'unknown@example.com', 'no-password@example.com']) {
    const response = await t.http.inject({
      method: 'POST',
      url: '/api/auth/signin',
      payload: { email, password: 'wrong one' },
    })
    const { requestId: _, ...body } = response.json<Record<string, unknown>>()
    responses.push({ status: response.statusCode, body, headers: Object.keys(response.headers).toSorted() })
  }
  expect(responses[0]).toMatchObject({ status: 401, body: { error: 'Wrong email and/or password' } })
  expect(responses[1]).toEqual(responses[0])
  expect(responses[2]).toEqual(responses[0])
})

test('a failed sign-in takes the same time with and without an account', async () => {
  const timesMs: Record<string, number[]> = { known: [], unknown: [] }
  // Few attempts for each account, because attempts are limited.
  for (let account = 0; account < 6; account++) {
    await t.make.user({ email: `known-${account}@example.com`, password })
    for (let round = 0; round < 6; round++)
      for (const [kind, list] of Object.entries(timesMs)) {
        const startedMs = performance.now()
        const attempt = signIn(`${kind}-${account}@example.com`, 'wrong one', `10.1.1.${account + 1}`)
        await expect(attempt).rejects.toMatchObject(wrongCredentials)
        list.push(performance.now() - startedMs)
      }
  }
  // The fastest of each, because other tests may delay the others.
  const [knownMs = 0, unknownMs = 1] = Object.values(timesMs).map((list) => Math.min(...list))
  expect(knownMs / unknownMs).toBeGreaterThan(0.6)
  expect(knownMs / unknownMs).toBeLessThan(1.6)
})

/** Counts failed attempts as `signIn` does, without the cost of verifying passwords. */
async function failTimes(times: number, email: string, ipOf: (n: number) => string, ownerId: number | null = null) {
  for (let n = 0; n < times; n++) await consumeAttempt(t.app, { email, ownerId, ip: ipOf(n) })
}

test('after 80 failures per hour for one account, from any addresses, even the correct password is rejected', async () => {
  await t.make.user({ email: 'target@example.com', password })
  await failTimes(79, 'target@example.com', (n) => `10.2.0.${n}`)
  await expect(signIn('target@example.com', 'guess', '10.2.1.1')).rejects.toMatchObject(wrongCredentials)
  await expect(signIn('target@example.com', password, '10.2.1.2')).rejects.toMatchObject(tooMany)
  await expect(signIn('target@example.com', password, '10.2.1.2')).rejects.toThrow(
    'Too many tries. Please wait 60 minutes or set a new password.',
  )
  t.clock.advance(hours(1))
  await expect(signIn('target@example.com', password, '10.2.1.2')).resolves.toMatchObject({})
})

test('an email without an account is limited in the same way', async () => {
  await failTimes(80, 'ghost@example.com', (n) => `10.3.0.${n}`)
  await expect(signIn('ghost@example.com', 'guess', '10.3.1.1')).rejects.toMatchObject(tooMany)
})

test('failures from other addresses do not lock the owner out at known addresses, which have a separate limit of 20 failures', async () => {
  const owner = await t.make.user({ email: 'owner@example.com', password })
  await signIn('owner@example.com', password, '192.0.2.1')
  await failTimes(80, 'owner@example.com', (n) => `10.4.0.${n}`, owner.id)
  await expect(signIn('owner@example.com', password, '10.4.1.1')).rejects.toMatchObject(tooMany)
  await failTimes(19, 'owner@example.com', () => '192.0.2.1', owner.id)
  await expect(signIn('owner@example.com', 'forgot it', '192.0.2.1')).rejects.toMatchObject(wrongCredentials)
  await expect(signIn('owner@example.com', password, '192.0.2.1')).rejects.toMatchObject(tooMany)
})

const browserSignIn = (email: string, enteredPassword: string, cookie = '') =>
  t.http.inject({
    method: 'POST',
    url: '/api/v1/auth/signin',
    payload: { email, password: enteredPassword },
    headers: { cookie },
    remoteAddress: '127.0.0.1',
  })

test('failures of another program on the same machine do not lock the owner out: the browser has its own limit', async () => {
  const owner = await t.make.user({ email: 'neighbour@example.com', password })
  await signIn('neighbour@example.com', password, '192.0.2.7')
  const first = await browserSignIn('neighbour@example.com', password)
  const cookie = String(first.headers['set-cookie']).split(';')[0] ?? ''
  expect(String(first.headers['set-cookie'])).toMatch(
    /^shoal_device=\S+; Path=\/api; Max-Age=7776000; HttpOnly; SameSite=Lax/,
  )
  await failTimes(20, 'neighbour@example.com', () => '127.0.0.1', owner.id)
  await expect(signIn('neighbour@example.com', password, '127.0.0.1')).rejects.toMatchObject(tooMany)
  expect((await browserSignIn('neighbour@example.com', password, cookie)).statusCode).toBe(201)
  // Other addresses of the owner have their own limits, too.
  await expect(signIn('neighbour@example.com', password, '192.0.2.7')).resolves.toMatchObject({})
})

test('a known browser has its own limit of 20 failures, only for its account and until the password changes', async () => {
  await t.make.user({ email: 'marked@example.com', password })
  const first = await browserSignIn('marked@example.com', password)
  const cookie = String(first.headers['set-cookie']).split(';')[0] ?? ''
  const other = await t.make.user({ email: 'unmarked@example.com', password })
  await failTimes(20, 'unmarked@example.com', () => '127.0.0.1', other.id)
  expect((await browserSignIn('unmarked@example.com', password, cookie)).statusCode).toBe(429)
  for (let n = 0; n < 20; n++) expect((await browserSignIn('marked@example.com', 'guess', cookie)).statusCode).toBe(401)
  expect((await browserSignIn('marked@example.com', password, cookie)).statusCode).toBe(429)
  t.clock.advance(hours(1))
  const { token } = (await browserSignIn('marked@example.com', password)).json<{ payload: { token: string } }>().payload
  await t.as(token).user.changePassword({ body: { oldPassword: password, newPassword: 'battery staple' } })
  for (let n = 0; n < 20; n++) await browserSignIn('marked@example.com', 'guess', cookie)
  expect((await browserSignIn('marked@example.com', 'battery staple')).statusCode).toBe(429)
})

test('one address may use only 20 of the attempts of an account', async () => {
  await t.make.user({ email: 'alone@example.com', password })
  await failTimes(20, 'alone@example.com', () => '10.7.0.1')
  await expect(signIn('alone@example.com', password, '10.7.0.1')).rejects.toMatchObject(tooMany)
  for (let n = 0; n < 100; n++) await signIn('alone@example.com', password, '10.7.0.1').catch(() => null)
  await expect(signIn('alone@example.com', password, '10.7.0.2')).resolves.toMatchObject({})
})

test('correct passwords do not count towards the limit', async () => {
  await t.make.user({ email: 'busy@example.com', password })
  await failTimes(79, 'busy@example.com', (n) => `10.5.0.${n}`)
  await signIn('busy@example.com', password, '10.5.1.1')
  await expect(signIn('busy@example.com', 'guess', '10.5.1.2')).rejects.toMatchObject(wrongCredentials)
  await expect(signIn('busy@example.com', 'guess', '10.5.1.3')).rejects.toMatchObject(tooMany)
})

test('one address may fail 100 times per hour for all accounts together; an IPv6 /64 counts as one address', async () => {
  for (let n = 0; n < 100; n++)
    await consumeAttempt(t.app, { email: `many-${n}@example.com`, ownerId: null, ip: `2001:db8::${n.toString(16)}` })
  await expect(signIn('one-more@example.com', 'guess', '2001:db8::ffff')).rejects.toMatchObject(tooMany)
  await expect(signIn('one-more@example.com', 'guess', '2001:db8:0:1::1')).rejects.toMatchObject(wrongCredentials)
})

test('recovery requests are rate-limited, and the response contains the time to wait', async () => {
  const call = () =>
    t.http.inject({
      method: 'POST',
      url: '/api/v1/auth/restore',
      payload: { email: 'a@example.com' },
      remoteAddress: '10.6.0.1',
    })
  for (let n = 0; n < 10; n++) expect((await call()).statusCode).toBe(201)
  const limited = await call()
  expect(limited.statusCode).toBe(429)
  expect(limited.headers['retry-after']).toBe('600')
})

test('signing out ends the session immediately', async () => {
  const user = await t.make.user()
  expect(await t.as(user).auth.signOut()).toEqual({ success: true })
  await expect(t.as(user).user.get()).rejects.toMatchObject({ status: 401, message: 'CREDENTIALS_INVALID' })
})

test('a session expires after 30 days', async () => {
  const user = await t.make.user()
  t.clock.advance(days(30) - 1000)
  await expect(t.as(user).user.get()).resolves.toMatchObject({ id: user.id })
  t.clock.advance(1000)
  await expect(t.as(user).user.get()).rejects.toMatchObject({ status: 401 })
})

test('the sign-in options of the installation are public', async () => {
  expect(await t.as(null).auth.getOptions()).toEqual({
    oauth: [],
    botCheck: { kind: 'altcha', challengeUrl: '/api/v1/auth/challenge' },
    hasOutbox: false,
    outboxUrl: null,
  })
})
