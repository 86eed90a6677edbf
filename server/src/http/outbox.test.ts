import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { startupText } from '../startup/startup-text.ts'
import { startTestApp, type TestApp } from '../testing/index.ts'

let t: TestApp
let cookie: string
beforeAll(async () => {
  t = await startTestApp({ env: { SHOAL_OUTBOX: 'true' } })
  cookie = `shoal_outbox=${t.app.outboxKey}`
})
afterAll(() => t.close())

const localHost = { host: 'localhost:4000' }
const readOutbox = (headers: Record<string, string>, url = '/outbox') =>
  t.http.inject({ url, headers: { ...localHost, ...headers } })
const options = async (headers: Record<string, string> = {}) => {
  const response = await t.http.inject({ url: '/api/v1/auth/options', headers: { ...localHost, ...headers } })
  return response.json<{ payload: { outboxUrl: string | null; hasOutbox: boolean } }>().payload
}

test('the page shows the emails, escaped and with working links', async () => {
  expect((await readOutbox({ cookie })).body).toContain('No emails yet')
  await t.app.mailer.send({
    to: 'ada@example.com',
    subject: '<b>Hello</b>',
    text: 'Open http://localhost:4000/a?b=1&c="2" <script>alert(1)</script>',
    html: '<p>unused</p>',
  })
  const { body, headers } = await readOutbox({ cookie })
  expect(body).toContain('&#60;b&#62;Hello')
  expect(body).toContain('<a href="http://localhost:4000/a?b=1&#38;c=&#34;2&#34;">')
  expect(body).not.toContain('<script')
  expect(headers['content-security-policy']).toContain("default-src 'none'")
})

test('access without the key is denied, even from this machine, since such requests may come from a squid', async () => {
  await t.app.mailer.send({ to: 'ada@example.com', subject: 'A secret link', text: 'none', html: '' })
  const key = t.app.outboxKey ?? ''
  for (const wrongKey of ['', 'a', key.slice(1), `${key}x`]) {
    for (const response of [
      await readOutbox({}, `/outbox?key=${wrongKey}`),
      await readOutbox({ cookie: `shoal_outbox=${wrongKey}` }),
      await readOutbox({}, `/outbox?key=a&key=${wrongKey}`),
    ]) {
      expect([response.statusCode, response.headers['set-cookie']]).toEqual([403, undefined])
      expect(response.body).not.toContain('A secret link')
      expect(response.body).toContain('printed in its terminal')
    }
  }
})

test('the key opens the page, and moves from the URL to HttpOnly cookies that are limited to two paths', async () => {
  const response = await readOutbox({}, `/outbox?key=${t.app.outboxKey}`)
  expect([response.statusCode, response.headers.location]).toEqual([302, '/outbox'])
  expect(response.headers['set-cookie']).toEqual([
    `${cookie}; Path=/outbox; HttpOnly; SameSite=Strict`,
    `${cookie}; Path=/api/v1/auth; HttpOnly; SameSite=Strict`,
  ])
  expect((await readOutbox({ cookie })).statusCode).toBe(200)
})

test('the sign-in options contain the URL of the page only for browsers that have opened it', async () => {
  expect(await options()).toMatchObject({ hasOutbox: true, outboxUrl: null })
  expect(await options({ cookie: 'shoal_outbox=made-up' })).toMatchObject({ outboxUrl: null })
  expect(await options({ cookie })).toMatchObject({ outboxUrl: 'http://localhost:4000/outbox' })
})

test('the terminal shows the URL of the page with its key, which changes at each start', async () => {
  expect(startupText(t.app, 1)).toContain(`http://localhost:4000/outbox?key=${t.app.outboxKey}\n`)
  expect(startupText({ config: loadConfig({}), outboxKey: null }, 1)).not.toContain('outbox')
  const other = await startTestApp({ env: { SHOAL_OUTBOX: 'true' } })
  try {
    expect(other.app.outboxKey).toMatch(/^[\w-]{43}$/)
    expect(other.app.outboxKey).not.toBe(t.app.outboxKey)
  } finally {
    await other.close()
  }
})

test.each<Record<string, string>>([
  { SHOAL_OUTBOX: 'false' },
  { SHOAL_OUTBOX: 'true', SHOAL_MAIL_URL: 'smtp://127.0.0.1:1' },
])('the page does not exist with %j', async (env) => {
  const other = await startTestApp({ env })
  try {
    expect(other.app.outboxKey).toBeNull()
    for (const url of ['/outbox', '/outbox?key=null', '/outbox?key=']) {
      const response = await other.http.inject({ url, headers: { ...localHost, cookie: 'shoal_outbox=null' } })
      expect(response.body).not.toContain('Outbox')
    }
    const { payload } = (await other.http.inject('/api/v1/auth/options')).json<{ payload: object }>()
    expect(payload).toMatchObject({ hasOutbox: false, outboxUrl: null })
  } finally {
    await other.close()
  }
})
