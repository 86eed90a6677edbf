import { Events, OAuth2Server, type MutableResponse } from 'oauth2-mock-server'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import { startTestApp, type TestApp } from '../../testing/index.ts'

type Profile = Record<string, unknown>

let t: TestApp
let google: Profile
let github: { user: Profile; emails: Profile[] }
const server = new OAuth2Server()

beforeAll(async () => {
  await server.issuer.keys.generate('RS256')
  await server.start(0, '127.0.0.1')
  const port = server.address().port
  const baseUrl = `http://127.0.0.1:${port}`
  server.service.on(Events.BeforeUserinfo, (response: MutableResponse) => {
    response.body = google
  })
  server.service.addRoute('GET', '/user', (_, response) => void response.end(JSON.stringify(github.user)))
  server.service.addRoute('GET', '/user/emails', (_, response) => void response.end(JSON.stringify(github.emails)))
  const urls = { authorizeUrl: `${baseUrl}/authorize`, tokenUrl: `${baseUrl}/token` }
  t = await startTestApp({
    env: {
      SHOAL_GOOGLE_CLIENT_ID: 'google-id',
      SHOAL_GOOGLE_CLIENT_SECRET: 'google-secret',
      SHOAL_GITHUB_CLIENT_ID: 'github-id',
      SHOAL_GITHUB_CLIENT_SECRET: 'github-secret',
    },
    external: {
      google: { ...urls, profileUrl: `${baseUrl}/userinfo` },
      github: { ...urls, profileUrl: `${baseUrl}/user`, emailsUrl: `${baseUrl}/user/emails` },
    },
  })
})
afterAll(async () => {
  await server.stop()
  await t.close()
})
beforeEach(() => {
  google = { sub: 'g1', email: 'Ada@Example.com', email_verified: true, name: 'Ada <Lovelace>' }
  github = {
    user: { id: 7, login: 'grace', name: null, avatar_url: 'https://avatars.example.com/7' },
    emails: [
      { email: 'old@example.com', primary: false, verified: true },
      { email: 'grace@example.com', primary: true, verified: true },
    ],
  }
})

/** Acts as a browser: requests the provider's URL, opens it, and returns the cookie and the provider's code and state. */
async function visit(provider: string) {
  const response = await t.http.inject(`/api/v1/oauth/${provider}/url`)
  const url = response.json<{ payload: { url: string } }>().payload.url
  const consent = await fetch(url, { redirect: 'manual' })
  const back = new URL(consent.headers.get('location') ?? '')
  const code = back.searchParams.get('code') ?? ''
  const state = back.searchParams.get('state') ?? ''
  return { url: new URL(url), back, code, state, cookie: String(response.headers['set-cookie']) }
}

async function finish(provider: string, { code, state, cookie }: Visit) {
  return t.http.inject({
    method: 'POST',
    url: `/api/v1/oauth/${provider}/auth`,
    payload: { code, state },
    headers: { cookie: cookie.split(';')[0] ?? '' },
  })
}

async function signInWith(provider: string) {
  const response = await finish(provider, await visit(provider))
  return t.as(response.json<{ payload: { token: string } }>().payload.token)
}

const failed = { code: 'OAUTH_FAILED' }

test('both providers are offered when configured', async () => {
  expect((await t.as(null).auth.getOptions()).oauth).toEqual(['google', 'github'])
})

test('the browser is sent to the provider with state and PKCE, and returns to the console', async () => {
  const { url, back, cookie } = await visit('google')
  const query = Object.fromEntries(url.searchParams)
  expect(query).toMatchObject({ client_id: 'google-id', code_challenge_method: 'S256', response_type: 'code' })
  expect(query['state']?.length).toBeGreaterThan(20)
  expect(query['scope']).toBe('openid email profile')
  expect(back.origin + back.pathname).toBe('http://localhost:4000/oauth/google')
  expect(cookie).toMatch(/^shoal_oauth=\S+; Path=\/api; Max-Age=600; HttpOnly; SameSite=Lax$/)
  expect(cookie).not.toContain(query['state'])
})

describe('an account', () => {
  test('is created at the first sign-in, with a confirmed email and a playground, and found at the next', async () => {
    const first = await (await signInWith('google')).user.get()
    expect(first).toMatchObject({ email: 'ada@example.com', fullName: 'Ada  Lovelace', emailVerified: true })
    expect(first.organizations).toHaveLength(1)
    google['email'] = 'ada-moved@example.com'
    expect(await (await signInWith('google')).user.get()).toMatchObject({ id: first.id, email: 'ada@example.com' })
  })

  test('created with GitHub has the confirmed primary email', async () => {
    const me = await (await signInWith('github')).user.get()
    expect(me).toMatchObject({ email: 'grace@example.com', fullName: 'grace' })
    expect(me.avatarUrl).toBe('https://avatars.example.com/7')
  })

  test('with the same confirmed email is reused', async () => {
    const existing = await t.make.user({ email: 'linked@example.com', password: 'long enough' })
    google = { ...google, sub: 'g2', email: 'linked@example.com' }
    expect(await (await signInWith('google')).user.get()).toMatchObject({ id: existing.id })
  })

  test('with the same but unconfirmed email stays separate: its creator gains no access', async () => {
    const squatter = await t.make.user({ email: 'victim@example.com', emailVerified: false })
    google = { ...google, sub: 'g3', email: 'victim@example.com' }
    const me = await (await signInWith('google')).user.get()
    expect(me.id).not.toBe(squatter.id)
    expect(me).toMatchObject({ emailVerified: true })
  })

  test('with the same email, confirmed only by opening the link, loses its password and other credentials', async () => {
    const attacker = await t.make.user({ email: 'old-link@example.com', password: 'of the attacker' })
    await t.app.database.pool.query(`update users set email_proven_at = null where id = ${attacker.id}`)
    const key = await t.make.token(attacker, { name: 'backdoor' })
    google = { ...google, sub: 'g5', email: 'old-link@example.com' }
    expect(await (await signInWith('google')).user.get()).toMatchObject({ id: attacker.id })
    const signIn = t.as(null).auth.signIn({ body: { email: 'old-link@example.com', password: 'of the attacker' } })
    await expect(signIn).rejects.toMatchObject({ status: 401 })
    for (const token of [attacker.token, key])
      await expect(t.as(token).user.get()).rejects.toMatchObject({ status: 401 })
    const [mail] = await t.mails()
    expect(mail).toMatchObject({ to: 'old-link@example.com', subject: 'Your old password no longer works' })
    expect(mail?.text).toContain('Ended: API token backdoor')
    const { rows } = await t.app.database.pool.query<{ after: unknown }>(
      `select after from audit_log where action = 'auth.signInWithOauth' and user_id = ${attacker.id}`,
    )
    expect(rows[0]?.after).toMatchObject({ ended: { sessions: 1, apiTokens: [{ name: 'backdoor' }] } })
    // The next sign-in revokes nothing, because the provider has confirmed the email.
    expect(await (await signInWith('google')).user.get()).toMatchObject({ id: attacker.id })
    expect((await t.mails())[0]?.subject).toBe('Your old password no longer works')
  })

  test.each([
    ['Google', 'google', () => (google = { ...google, sub: 'g4', email_verified: false })],
    [
      'GitHub',
      'github',
      () =>
        (github = {
          user: { ...github.user, id: 8 },
          emails: [{ email: 'x@example.com', primary: true, verified: false }],
        }),
    ],
  ])('is not created if %s has not confirmed the email', async (label, provider, prepare) => {
    prepare()
    const response = await finish(provider, await visit(provider))
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({
      error: `${label} has not confirmed your email. Confirm it there, then try again.`,
    })
  })
})

describe('the sign-in rejects', () => {
  test.each([
    ['without the cookie of the requesting browser', (v: Visit) => ({ ...v, cookie: '' })],
    ['with a forged cookie', (v: Visit) => ({ ...v, cookie: 'shoal_oauth=made-up' })],
    ['with another state', (v: Visit) => ({ ...v, state: 'another' })],
    ['with a code that is unknown to the provider', (v: Visit) => ({ ...v, code: 'made-up' })],
  ])('a response %s', async (_, change) => {
    const response = await finish('google', change(await visit('google')))
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject(failed)
  })

  test("the code of another user's visit: PKCE binds it to the requesting browser", async () => {
    const own = await visit('google')
    const foreign = await visit('google')
    expect((await finish('google', { ...own, code: foreign.code })).json()).toMatchObject(failed)
  })

  test("another provider's visit, and one from ten minutes ago", async () => {
    expect((await finish('github', await visit('google'))).json()).toMatchObject(failed)
    const late = await visit('google')
    t.clock.advance(minutes(10))
    expect((await finish('google', late)).json()).toMatchObject(failed)
  })

  test('an unknown provider', async () => {
    const response = await t.http.inject('/api/v1/oauth/myspace/url')
    expect(response.statusCode).toBe(404)
  })
})

type Visit = { code: string; state: string; cookie: string }

test('the cookie is deleted when the sign-in is finished', async () => {
  const response = await finish('google', await visit('google'))
  expect(response.statusCode).toBe(201)
  expect(response.headers['set-cookie']).toMatch(/^shoal_oauth=; Path=\/api; Max-Age=0/)
})
