import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { days, minutes } from '../../clock.ts'
import { startTestApp, type TestApp, type TestUser } from '../../testing/index.ts'
import { addressBlock, authenticate } from './index.ts'
import { signingKey } from './signing-keys.ts'

let t: TestApp
let user: TestUser
beforeAll(async () => {
  t = await startTestApp()
  user = await t.make.user()
})
afterAll(() => t.close())

test('both schemes, in any case, with a session and with an API token', async () => {
  const key = await t.make.token(user)
  for (const credential of [user.token, key])
    for (const scheme of ['token', 'Bearer', 'TOKEN', 'bearer'])
      expect(await authenticate(t.app, `${scheme} ${credential}`)).toMatchObject({ userId: user.id })
})

test.each([
  undefined,
  '',
  'Basic YTpi',
  'token',
  'token empty',
  'Bearer a.b.c',
  'Bearer shoal_x',
  `Bearer ${'x'.repeat(3000)}`,
])('no caller: %s', async (header) => {
  expect(await authenticate(t.app, header)).toBeNull()
})

describe('a session token', () => {
  const forge = async (key: Uint8Array) => {
    const { sessionId } = (await authenticate(t.app, `Bearer ${user.token}`)) ?? {}
    return new SignJWT({ sid: sessionId }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1y').sign(key)
  }

  test('signed with another key is rejected', async () => {
    const ours = await forge(await signingKey(t.app, 'session'))
    expect(await authenticate(t.app, `Bearer ${ours}`)).toMatchObject({ userId: user.id })
    expect(await authenticate(t.app, `Bearer ${await forge(new Uint8Array(32))}`)).toBeNull()
    expect(await authenticate(t.app, `Bearer ${await forge(await signingKey(t.app, 'challenge'))}`)).toBeNull()
  })

  test('without a signature is rejected', async () => {
    const [, payload = ''] = user.token.split('.')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    expect(await authenticate(t.app, `Bearer ${none}.${payload}.`)).toBeNull()
  })

  test('is valid in another API process on the same database', async () => {
    expect(await authenticate({ ...t.app }, `Bearer ${user.token}`)).toMatchObject({ userId: user.id })
  })
})

describe('an API token', () => {
  test('ends when it expires', async () => {
    const key = await t.make.token(user, { expiresAt: new Date(t.clock.now().getTime() + days(7)) })
    t.clock.advance(days(7) - 1)
    expect(await authenticate(t.app, `token ${key}`)).toMatchObject({ sessionId: null })
    t.clock.advance(1)
    expect(await authenticate(t.app, `token ${key}`)).toBeNull()
  })

  test('records when it was used, at most once a minute', async () => {
    const other = await t.make.user()
    const key = await t.make.token(other)
    const lastUsedAt = async () => (await t.as(other).user.listApiTokens())[0]?.lastUsedAt
    expect(await lastUsedAt()).toBeNull()
    await authenticate(t.app, `token ${key}`)
    const first = t.clock.now().toISOString()
    expect(await lastUsedAt()).toBe(first)
    t.clock.advance(minutes(1) - 1)
    await authenticate(t.app, `token ${key}`)
    expect(await lastUsedAt()).toBe(first)
    t.clock.advance(1)
    await authenticate(t.app, `token ${key}`)
    expect(await lastUsedAt()).toBe(t.clock.now().toISOString())
  })

  test('is stored as a hash only', async () => {
    const key = await t.make.token(user)
    const { rows } = await t.app.database.pool.query<{ text: string }>('select t::text as text from api_tokens t')
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.filter((row) => row.text.includes(key.slice(10)))).toEqual([])
  })
})

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:0DB8:0:0:ffff::', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s is counted as %s', (ip, block) => {
  expect(addressBlock(ip)).toBe(block)
})
