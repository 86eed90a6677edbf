import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../testing/index.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp({ env: { SHOAL_OUTBOX: 'true' } })))
afterAll(() => t.close())

const local = { host: 'localhost:4000' }
const read = (headers: Record<string, string> = local, remoteAddress = '127.0.0.1') =>
  t.http.inject({ url: '/outbox', headers, remoteAddress })

test('shows the mails with working links, escaped', async () => {
  expect((await read()).body).toContain('No mails yet')
  await t.app.mailer.send({
    to: 'ada@example.com',
    subject: '<b>Hello</b>',
    text: 'Open http://localhost:4000/a?b=1&c="2" <script>alert(1)</script>',
    html: '<p>unused</p>',
  })
  const { body, headers } = await read()
  expect(body).toContain('&#60;b&#62;Hello')
  expect(body).toContain('<a href="http://localhost:4000/a?b=1&#38;c=&#34;2&#34;">')
  expect(body).not.toContain('<script')
  expect(headers['content-security-policy']).toContain("default-src 'none'")
})

test('is only served to this machine', async () => {
  expect((await read(local, '192.0.2.1')).statusCode).toBe(404)
  expect((await read({ host: 'evil.example.com' })).statusCode).toBe(404)
  expect((await read({ ...local, 'x-forwarded-for': '192.0.2.1' })).statusCode).toBe(404)
})

test('its URL is only sent to clients that can open it', async () => {
  const options = async (headers: Record<string, string>) =>
    (await t.http.inject({ url: '/api/v1/auth/options', headers })).json<{ payload: { outboxUrl: string | null } }>()
  expect((await options(local)).payload.outboxUrl).toBe('http://localhost:4000/outbox')
  expect((await options({ ...local, 'x-forwarded-for': '192.0.2.1' })).payload.outboxUrl).toBeNull()
})

test.each<Record<string, string>>([
  { SHOAL_OUTBOX: 'false' },
  { SHOAL_OUTBOX: 'true', SHOAL_MAIL_URL: 'smtp://127.0.0.1:1' },
])('does not exist with %j', async (env) => {
  const other = await startTestApp({ env })
  try {
    const response = await other.http.inject({ url: '/outbox', headers: local })
    expect(response.body).not.toContain('Outbox')
  } finally {
    await other.close()
  }
})
