import { afterAll, beforeAll, expect, test } from 'vitest'
import { days, hours } from '../../clock.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { consumeAttempt } from './sign-in-attempts.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const password = 'correct horse'
const wrong = { status: 401, message: 'Wrong email and/or password' }
const tooMany = { status: 429, body: { code: 'TOO_MANY_REQUESTS' } }

const signIn = (email: string, given = password, ip = '127.0.0.1') =>
  t.as(null, { ip }).auth.signIn({ body: { email, password: given } })

test('the right password signs in; email in any case', async () => {
  const user = await t.make.user({ email: 'ada@example.com', password })
  const { token } = await signIn('ADA@example.com ')
  expect(await t.as(token).user.get()).toMatchObject({ id: user.id })
})

test('wrong password, unknown email and an account without a password get the same response', async () => {
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

test('a refusal takes the same time with and without an account', async () => {
  await t.make.user({ email: 'timed@example.com', password })
  const times: Record<string, number[]> = { 'timed@example.com': [], 'untimed@example.com': [] }
  for (let round = 0; round < 8; round++)
    for (const [email, list] of Object.entries(times)) {
      const startedMs = performance.now()
      await expect(signIn(email, 'wrong one', '10.1.1.1')).rejects.toMatchObject(wrong)
      list.push(performance.now() - startedMs)
    }
  const [known = 0, unknown = 1] = Object.values(times).map((list) => list.toSorted((a, b) => a - b)[4])
  expect(known / unknown).toBeGreaterThan(0.6)
  expect(known / unknown).toBeLessThan(1.6)
})

/** Failed attempts as `signIn` counts them, without the cost of checking a password. */
async function failTimes(times: number, email: string, ipOf: (n: number) => string, ownerId: number | null = null) {
  for (let n = 0; n < times; n++) await consumeAttempt(t.app, { email, ownerId, ip: ipOf(n) })
}

test('others may fail 80 times per hour for one account, from any address; then even the right password is refused', async () => {
  await t.make.user({ email: 'target@example.com', password })
  await failTimes(79, 'target@example.com', (n) => `10.2.0.${n}`)
  await expect(signIn('target@example.com', 'guess', '10.2.1.1')).rejects.toMatchObject(wrong)
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

test('others do not lock the owner out at addresses the owner has used; 20 may fail there', async () => {
  const owner = await t.make.user({ email: 'owner@example.com', password })
  await signIn('owner@example.com', password, '192.0.2.1')
  await failTimes(80, 'owner@example.com', (n) => `10.4.0.${n}`, owner.id)
  await expect(signIn('owner@example.com', password, '10.4.1.1')).rejects.toMatchObject(tooMany)
  await failTimes(19, 'owner@example.com', () => '192.0.2.1', owner.id)
  await expect(signIn('owner@example.com', 'forgot it', '192.0.2.1')).rejects.toMatchObject(wrong)
  await expect(signIn('owner@example.com', password, '192.0.2.1')).rejects.toMatchObject(tooMany)
})

test('correct passwords do not count', async () => {
  await t.make.user({ email: 'busy@example.com', password })
  await failTimes(79, 'busy@example.com', (n) => `10.5.0.${n}`)
  await signIn('busy@example.com', password, '10.5.1.1')
  await expect(signIn('busy@example.com', 'guess', '10.5.1.2')).rejects.toMatchObject(wrong)
  await expect(signIn('busy@example.com', 'guess', '10.5.1.3')).rejects.toMatchObject(tooMany)
})

test('one address may fail 100 times per hour over all accounts; an IPv6 network counts as one address', async () => {
  for (let n = 0; n < 100; n++)
    await consumeAttempt(t.app, { email: `many-${n}@example.com`, ownerId: null, ip: `2001:db8::${n.toString(16)}` })
  await expect(signIn('one-more@example.com', 'guess', '2001:db8::ffff')).rejects.toMatchObject(tooMany)
  await expect(signIn('one-more@example.com', 'guess', '2001:db8:0:1::1')).rejects.toMatchObject(wrong)
})

test('calls are limited too, with correct passwords as well, and the response says when to retry', async () => {
  const call = () =>
    t.http.inject({
      method: 'POST',
      url: '/api/v1/auth/restore',
      payload: { email: 'a@example.com' },
      remoteAddress: '10.6.0.1',
    })
  for (let n = 0; n < 10; n++) expect((await call()).statusCode).toBe(201)
  const refused = await call()
  expect(refused.statusCode).toBe(429)
  expect(refused.headers['retry-after']).toBe('600')
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

test('lists the options of this installation', async () => {
  expect(await t.as(null).auth.getOptions()).toEqual({
    oauth: [],
    botCheck: { kind: 'altcha', challengeUrl: '/api/v1/auth/challenge' },
    outboxUrl: null,
  })
})
