import type { InjectOptions } from 'fastify'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../testing/index.ts'
import { createHttpApp } from './app.ts'

let t: TestApp
let key: string
beforeAll(async () => {
  t = await startTestApp({ env: { SHOAL_OUTBOX: 'true' } })
  key = t.app.outboxKey ?? ''
})
afterAll(() => t.close())

/** One request for each kind of response of the port of the console and API. */
const kinds: [kind: string, status: number, request: () => InjectOptions][] = [
  ['the page of the console', 200, () => ({ url: '/squids' })],
  ['a file of the console that does not exist', 404, () => ({ url: '/assets/missing.js' })],
  ['data of the API', 200, () => ({ url: '/api/v1/auth/options' })],
  ['an icon', 200, () => ({ url: '/api/v1/icons/Ethereum' })],
  ['a request without a sign-in', 401, () => ({ url: '/api/v1/user' })],
  ['an unknown endpoint', 404, () => ({ url: '/api/v1/unknown' })],
  ['an unknown method', 404, () => ({ method: 'PATCH', url: '/api/v1/user' })],
  ['input that is not JSON', 400, () => ({ method: 'POST', url: '/api/v1/auth/signin', ...json('{') })],
  ['a body that is too large', 405, () => ({ method: 'POST', url: '/api/v1/auth/signin', ...json('"'.repeat(2e6)) })],
  ['the OpenAPI document', 200, () => ({ url: '/api/openapi.json' })],
  ['the API docs', 200, () => ({ url: '/api/docs/' })],
  ['a script of the API docs', 200, () => ({ url: '/api/docs/static/swagger-initializer.js' })],
  ['a page of the documentation that does not exist', 404, () => ({ url: '/docs/missing' })],
  ['liveness', 200, () => ({ url: '/healthz' })],
  ['the outbox without its key', 403, () => ({ url: '/outbox' })],
  ['the redirect that removes the key from the URL', 302, () => ({ url: `/outbox?key=${key}` })],
  ['the outbox', 200, () => ({ url: '/outbox', headers: { cookie: `shoal_outbox=${key}` } })],
]

const json = (payload: string) => ({ payload, headers: { 'content-type': 'application/json' } })

describe.each([
  ['http://localhost:4000', undefined],
  ['https://shoal.example.com', 'max-age=31536000; includeSubDomains'],
])('with the public URL %s', (publicUrl, hsts) => {
  test.each(kinds)('%s has all security headers', async (_, status, request) => {
    const server = await createHttpApp({ ...t.app, config: { ...t.app.config, publicUrl } })
    const { headers, statusCode } = await server.inject(request())
    await server.close()
    expect(statusCode).toBe(status)
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=(), ') as string,
    })
    expect(headers['strict-transport-security']).toBe(hsts)
    const directives = String(headers['content-security-policy']).split(/; ?/)
    for (const name of ['object-src', 'base-uri', 'frame-ancestors']) expect(directives).toContain(`${name} 'none'`)
    expect(directives.some((directive) => /^default-src '(none|self)'$/.test(directive))).toBe(true)
    const unsafe = directives.filter((directive) => /unsafe-|https?:(?!\/)|\*(?!\.)/.test(directive))
    expect(unsafe.filter((directive) => directive !== "style-src-attr 'unsafe-inline'")).toEqual([])
  })
})

test('responses of the API cannot load or run anything in a browser', async () => {
  const { headers } = await t.http.inject({ url: '/api/v1/user' })
  expect(headers['content-security-policy']).toBe(
    "default-src 'none';object-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
  )
})

test('TRACE is rejected, and no response repeats the headers of the request', async () => {
  const { hostname, port } = new URL(await t.listen())
  for (const path of ['/', '/api/v1/user', '/healthz']) {
    const socket = connect(Number(port), hostname)
    socket.end(
      `TRACE ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: token repeated\r\nConnection: close\r\n\r\n`,
    )
    const response = Buffer.concat(await socket.toArray()).toString()
    expect(response).toMatch(/^HTTP\/1.1 4\d\d /)
    expect(response).not.toContain('repeated')
  }
})

test('the API docs run only their own scripts and load nothing from other origins', async () => {
  const policy = String((await t.http.inject({ url: '/api/docs/' })).headers['content-security-policy'])
  expect(policy).toMatch(/default-src 'self'.* script-src 'self'/)
  expect(policy).not.toMatch(/unsafe|https:|upgrade-insecure|swagger\.io/)
})
