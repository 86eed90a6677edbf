import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import { startTestApp, type TestApp, type TestUser } from '../../testing/index.ts'

let t: TestApp
let operator: TestUser
const password = 'a long enough password'

beforeAll(async () => {
  t = await startTestApp()
  operator = await t.make.operator({ password })
})
afterAll(() => t?.close())
// Avoids rate limits, and makes entered passwords expire.
beforeEach(() => t.clock.advance(minutes(30)))

const asOperator = () => t.as(operator).operators
const enterPassword = () => asOperator().confirmPassword({ body: { password } })
const send = (
  url: string,
  options: { method?: 'GET' | 'POST' | 'DELETE'; token?: string | null; payload?: string } = {},
) =>
  t.http.inject({
    method: options.method ?? 'GET',
    url,
    headers: {
      ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
      ...(options.payload === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(options.payload === undefined ? {} : { payload: options.payload }),
  })

describe('without the flag, the endpoints look like unknown paths', () => {
  const attempts = [
    ['GET', ''],
    ['GET', '/orgs?sort=none'],
    ['GET', `/orgs?search=${encodeURIComponent('\0')}`],
    ['POST', `/orgs/${encodeURIComponent('\0')}/suspension`, '{}'],
    ['POST', '/orgs/a/suspension', '{ not json'],
    ['POST', '/orgs/a/suspension', '{"reason":1}'],
    ['DELETE', `/orgs/${'a'.repeat(300)}/suspension`],
    ['POST', '/password', '{"password":"x"}'],
  ] as const
  test.each(attempts)('%s /admin%s', async (method, path, payload?: string) => {
    const org = await t.make.org()
    const callers = [null, 'shoal_made-up', org.admin.token, await t.make.token(operator)]
    for (const token of callers) {
      const options = { method, token, ...(payload !== undefined && { payload }) }
      const [actual, unknown] = await Promise.all([
        send(`/api/v1/admin${path}`, options),
        send(`/api/v1/nothing${path}`, options),
      ])
      const comparable = (response: typeof actual) => {
        const { date: _, ...headers } = response.headers
        const { requestId: _id, ...body } = response.json<{ error: string; requestId: string }>()
        return {
          status: response.statusCode,
          headers,
          body: { ...body, error: body.error.replace('nothing', 'admin') },
        }
      }
      const { headers, ...rest } = comparable(actual)
      const expected = comparable(unknown)
      // The length differs because the paths do.
      expect({ ...rest, headers: { ...headers, 'content-length': '' } }).toEqual({
        ...expected,
        headers: { ...expected.headers, 'content-length': '' },
      })
    }
  })

  test('an operator whose flag was removed is locked out in the middle of the session, even if the password was entered recently', async () => {
    const former = await t.make.operator({ password })
    const client = t.as(former).operators
    await client.confirmPassword({ body: { password } })
    expect((await t.as(former).user.get({})).isOperator).toBe(true)
    await t.app.database.pool.query('update users set is_operator = false where id = $1', [former.id])
    await expect(client.listOrgs({})).rejects.toMatchObject({ status: 404 })
    const org = await t.make.org()
    await expect(client.suspendOrg({ params: { code: org.code }, body: { reason: 'mine' } })).rejects.toMatchObject({
      status: 404,
    })
    expect((await t.as(former).user.get({})).isOperator).toBe(false)
  })

  test('the public OpenAPI document does not list them', async () => {
    expect((await send('/api/openapi.json')).body).not.toContain('/admin')
  })
})

describe('a change needs the password', () => {
  test('which allows changes for ten minutes after it was entered, in this session only', async () => {
    const org = await t.make.org()
    const suspend = () => asOperator().suspendOrg({ params: { code: org.code }, body: { reason: 'Abuse.' } })
    await expect(suspend()).rejects.toMatchObject({ status: 405, body: { code: 'PASSWORD_NEEDED' } })
    const { passwordUntil } = await enterPassword()
    expect(await asOperator().getAccess({})).toEqual({ passwordUntil, hasPassword: true })
    t.clock.advance(minutes(10))
    expect(await asOperator().getAccess({})).toEqual({ passwordUntil: null, hasPassword: true })
    await expect(suspend()).rejects.toMatchObject({ status: 405, body: { code: 'PASSWORD_NEEDED' } })
    await enterPassword()
    t.clock.advance(minutes(10) - 1)
    await suspend()
  })

  test('signing in with the password counts, signing in without it does not', async () => {
    const signedIn = await t.as(null).auth.signIn({ body: { email: operator.email, password } })
    expect((await t.as(signedIn.token).operators.getAccess({})).passwordUntil).not.toBeNull()
    expect((await asOperator().getAccess({})).passwordUntil).toBeNull()
  })

  test('a wrong password changes nothing, and guessing is limited', async () => {
    const guess = () => asOperator().confirmPassword({ body: { password: 'wrong' } })
    for (let i = 0; i < 10; i++) await expect(guess()).rejects.toMatchObject({ status: 400 })
    await expect(guess()).rejects.toMatchObject({ status: 429 })
    expect((await asOperator().getAccess({})).passwordUntil).toBeNull()
  })

  test('an account without a password must set one first', async () => {
    const withoutPassword = await t.make.operator()
    const client = t.as(withoutPassword).operators
    expect(await client.getAccess({})).toEqual({ passwordUntil: null, hasPassword: false })
    await expect(client.confirmPassword({ body: { password } })).rejects.toMatchObject({
      status: 405,
      body: { code: 'NO_PASSWORD' },
    })
  })
})
