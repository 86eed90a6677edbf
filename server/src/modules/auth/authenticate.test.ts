import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addressBlock } from '../../address-block.ts'
import { days, minutes } from '../../clock.ts'
import { startTestApp, type TestApp, type TestUser } from '../../testing/index.ts'
import { authenticate } from './index.ts'
import { signingKey } from './signing-keys.ts'

let t: TestApp
let user: TestUser
beforeAll(async () => {
  t = await startTestApp()
  user = await t.make.user()
})
afterAll(() => t.close())

test('both schemes are accepted, in upper or lower case, for a session and for an API token', async () => {
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
])('the header %j identifies no caller', async (header) => {
  expect(await authenticate(t.app, header)).toBeNull()
})

/** Replaces the header of a token, and keeps its payload and signature. */
const withHeader = (token: string, header: object) =>
  [Buffer.from(JSON.stringify(header)).toString('base64url'), ...token.split('.').slice(1)].join('.')

describe('a session token', () => {
  const signToken = async (key: Uint8Array) => {
    const { sessionId } = (await authenticate(t.app, `Bearer ${user.token}`)) ?? {}
    return new SignJWT({ sid: sessionId }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1y').sign(key)
  }

  test('signed with another key is rejected', async () => {
    const valid = await signToken(await signingKey(t.app, 'session'))
    expect(await authenticate(t.app, `Bearer ${valid}`)).toMatchObject({ userId: user.id })
    expect(await authenticate(t.app, `Bearer ${await signToken(new Uint8Array(32))}`)).toBeNull()
    expect(await authenticate(t.app, `Bearer ${await signToken(await signingKey(t.app, 'challenge'))}`)).toBeNull()
  })

  test('without a signature is rejected', async () => {
    const [, payload = ''] = user.token.split('.')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    expect(await authenticate(t.app, `Bearer ${none}.${payload}.`)).toBeNull()
  })

  test.each<[what: string, change: (token: string) => string | Promise<string>]>([
    ...['none', 'None', 'NONE', 'RS256', 'HS512'].map((alg): [string, (token: string) => string] => [
      `the algorithm ${alg}`,
      (token) => withHeader(token, { alg }),
    ]),
    ['no signature', (token) => token.split('.').slice(0, 2).join('.')],
    ['an empty signature', (token) => token.replace(/[^.]+$/, '')],
    ['a changed payload', (token) => token.replace(/\.(.)/, (_, first) => (first === 'e' ? '.f' : '.e'))],
    [
      'the URL of a key in its header',
      (token) => withHeader(token, { alg: 'RS256', jku: 'http://127.0.0.1/keys.json' }),
    ],
    // Signed with the key of the installation, so that only the extension is wrong.
    [
      'an unknown critical extension',
      async () =>
        new SignJWT({ sid: (await authenticate(t.app, `Bearer ${user.token}`))?.sessionId, x: 1 })
          .setProtectedHeader({ alg: 'HS256', crit: ['x'], x: 1 })
          .setExpirationTime('1y')
          .sign(await signingKey(t.app, 'session'), { crit: { x: true } }),
    ],
  ])('with %s is rejected', async (_, change) => {
    expect(await authenticate(t.app, `Bearer ${await change(user.token)}`)).toBeNull()
  })

  test('in a query or a cookie identifies no caller', async () => {
    const url = '/api/v1/user'
    expect((await t.http.inject({ url, headers: { authorization: `Bearer ${user.token}` } })).statusCode).toBe(200)
    const names = ['token', 'access_token', 'user_token', 'authorization']
    for (const name of names) {
      const inQuery = await t.http.inject(`${url}?${name}=${user.token}`)
      expect([400, 401]).toContain(inQuery.statusCode)
      const inCookie = await t.http.inject({ url, headers: { cookie: `${name}=${user.token}` } })
      expect(inCookie.statusCode).toBe(401)
    }
  })

  test('is not sent by pages of other origins: preflights get no CORS headers', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://localhost:4001']) {
      const headers = {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      }
      const response = await t.http.inject({ method: 'OPTIONS', url: '/api/v1/user', headers })
      expect(response.statusCode).toBe(404)
      const names = Object.keys(response.headers)
      expect(names.filter((name) => name.startsWith('access-control-'))).toEqual([])
    }
  })

  test('is valid in another API process on the same database', async () => {
    expect(await authenticate({ ...t.app }, `Bearer ${user.token}`)).toMatchObject({ userId: user.id })
  })
})

describe('an API token', () => {
  test('is rejected once it has expired', async () => {
    const key = await t.make.token(user, { expiresAt: new Date(t.clock.now().getTime() + days(7)) })
    t.clock.advance(days(7) - 1)
    expect(await authenticate(t.app, `token ${key}`)).toMatchObject({ sessionId: null })
    t.clock.advance(1)
    expect(await authenticate(t.app, `token ${key}`)).toBeNull()
  })

  test('records its last use, at most once a minute', async () => {
    const other = await t.make.user()
    const key = await t.make.token(other)
    const lastUsedAt = async () => (await t.as(other).user.listApiTokens())[0]?.lastUsedAt
    expect(await lastUsedAt()).toBeNull()
    await authenticate(t.app, `token ${key}`)
    const firstUse = t.clock.now().toISOString()
    expect(await lastUsedAt()).toBe(firstUse)
    t.clock.advance(minutes(1) - 1)
    await authenticate(t.app, `token ${key}`)
    expect(await lastUsedAt()).toBe(firstUse)
    t.clock.advance(1)
    await authenticate(t.app, `token ${key}`)
    expect(await lastUsedAt()).toBe(t.clock.now().toISOString())
  })

  test('is stored only as a hash', async () => {
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
])('the address %s is counted as the block %s', (ip, block) => {
  expect(addressBlock(ip)).toBe(block)
})
