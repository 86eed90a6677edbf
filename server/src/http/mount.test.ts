import { endpoint } from '@shoal/contract'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { invalidField } from '../errors.ts'
import type { Handlers } from '../modules/call.ts'
import { startTestApp, type TestApp, type TestUser } from '../testing/index.ts'
import { errorBody, mount } from './mount.ts'
import { cookieOf } from './request.ts'

let t: TestApp
let user: TestUser
beforeAll(async () => {
  t = await startTestApp()
  user = await t.make.user()
})
afterAll(() => t.close())

const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, options: Record<string, unknown> = {}) =>
  t.http.inject({
    method,
    url,
    ...options,
    headers: { authorization: `token ${user.token}`, ...(options['headers'] as Record<string, string> | undefined) },
  })

describe('addresses', () => {
  test.each(['/api/v1/user', '/api/user', '/api//v1/user', '//api/v1//user'])(
    '%s addresses the same endpoint',
    async (url) => {
      expect((await call('GET', url)).json()).toMatchObject({ payload: { id: user.id } })
    },
  )

  test('an unknown path returns JSON that the public client recognizes as an unknown endpoint', async () => {
    const response = await call('GET', '/api/v1/nothing?secret=1')
    expect(response.statusCode).toBe(404)
    expect(response.json()).toMatchObject({ error: 'Cannot GET /api/v1/nothing', code: 'NOT_FOUND' })
  })

  test('the case of an organization code does not matter', async () => {
    expect((await call('GET', `/api/v1/orgs/${user.playground.code.toUpperCase()}`)).statusCode).toBe(200)
  })
})

describe('unchanged responses', () => {
  const url = '/api/v1/user'
  const tagOf = async () => String((await call('GET', url)).headers['etag'])

  test.each([(tag: string) => tag, (tag: string) => `W/${tag}`, (tag: string) => `"other", ${tag}`])(
    'are not sent again to a caller that sends their ETag, in form %#',
    async (headerOf) => {
      const response = await call('GET', url, { headers: { 'if-none-match': headerOf(await tagOf()) } })
      expect([response.statusCode, response.body]).toEqual([304, ''])
    },
  )

  test('are sent again after they have changed', async () => {
    const tag = await tagOf()
    await call('PUT', url, { payload: { fullName: 'Another name' } })
    const response = await call('GET', url, { headers: { 'if-none-match': tag } })
    expect(response.json()).toMatchObject({ payload: { fullName: 'Another name' } })
    expect(response.headers['etag']).not.toBe(tag)
  })

  test('errors and changes have no ETag', async () => {
    expect((await call('GET', '/api/v1/orgs/none')).headers['etag']).toBeUndefined()
    expect((await call('PUT', url, { payload: { fullName: 'A third name' } })).headers['etag']).toBeUndefined()
  })
})

test('the OpenAPI document lists the unversioned paths of the specification', async () => {
  const { paths } = (await t.http.inject('/api/openapi.json')).json<{
    paths: Record<string, Record<string, unknown>>
  }>()
  for (const [path, method] of [
    ['/api/user', 'get'],
    ['/api/user/onboarding', 'put'],
    ['/api/auth/signin', 'post'],
  ] as const)
    expect(Object.keys(paths[path] ?? {})).toEqual([method])
  const ids = Object.values(paths).flatMap((operations) =>
    Object.values(operations as Record<string, { operationId: string }>),
  )
  expect(new Set(ids.map(({ operationId }) => operationId)).size).toBe(ids.length)
})

describe('bodies', () => {
  const resend = '/api/v1/user/email/confirm/resend'

  test.each([
    ['urlencoded and empty, as the public client sends it', 'application/x-www-form-urlencoded', ''],
    ['JSON and empty', 'application/json', ''],
    ['JSON and not empty', 'application/json', '{"a":1}'],
  ])('an undeclared body is accepted: %s', async (_, type, payload) => {
    expect((await call('POST', resend, { payload, headers: { 'content-type': type } })).statusCode).toBe(201)
  })

  test('forms with fields, which any page on the web can send, are rejected', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const payload = 'email=a%40b.co&password=correct-horse'
    const response = await t.http.inject({ method: 'POST', url: '/api/v1/auth/signin', headers, payload })
    expect([response.statusCode, response.json<{ error: string }>().error]).toEqual([
      415,
      'Send the body as JSON, with the header "content-type: application/json".',
    ])
  })

  test.each(['multipart/form-data', 'multipart/form-data; boundary=', 'text/plain'])(
    'an upload with the content type %s is rejected with the reason',
    async (type) => {
      const url = `/api/v1/orgs/${user.playground.code}/uploads/a`
      const response = await call('POST', url, { payload: 'x', headers: { 'content-type': type } })
      expect([response.statusCode, response.json<{ error: string }>().error]).toEqual([
        400,
        'Send the archive as a multipart part named "file".',
      ])
    },
  )

  test('the error for an empty body names every missing field', async () => {
    const response = await call('POST', '/api/v1/orgs')
    expect(response.statusCode).toBe(400)
    const { invalidFields } = response.json<{ invalidFields: { path: string[] }[] }>()
    expect(invalidFields.map((field) => field.path)).toEqual([['code'], ['name'], ['email']])
  })

  test.each<[method: 'POST' | 'PUT', path: string, messages: Record<string, string>]>([
    ['POST', 'auth/signin', { email: 'Email is required', password: 'Password is required' }],
    [
      'POST',
      'auth/signup',
      {
        email: 'Email is required',
        fullName: 'Full name is required',
        password: 'Password is required',
        turnstileToken: 'Please solve the bot check',
      },
    ],
    ['POST', 'auth/restore', { email: 'Email is required' }],
    ['POST', 'auth/restore/confirm', { password: 'Password is required', token: 'Token is required' }],
    ['PUT', 'user', { fullName: 'Name is required' }],
    ['POST', 'user/password/change', { oldPassword: 'Password is required', newPassword: 'Password is required' }],
    ['POST', 'user/api-tokens', { name: 'Token name is required and must be unique' }],
    ['POST', 'orgs', { code: 'Code is required', name: 'Name is required', email: 'Email is required' }],
    ['POST', 'orgs/CODE/roles', { email: 'Email is required' }],
    [
      'PUT',
      'orgs/CODE/billing/settings',
      {
        name: 'Name is required',
        email: 'Email is required',
        country: 'Country is required',
        city: 'City is required',
        postalCode: 'ZIP code is required',
        addressLine1: 'Address is required',
      },
    ],
  ])('%s %s returns the same error for a missing field as for an empty one', async (method, path, messages) => {
    const { admin, code } = await t.make.org()
    const headers = { authorization: `Bearer ${admin.token}` }
    for (const payload of [{}, Object.fromEntries(Object.keys(messages).map((field) => [field, '']))]) {
      const response = await t.http.inject({
        method,
        url: `/api/v1/${path.replace('CODE', code)}`,
        payload,
        headers,
        remoteAddress: '198.51.100.7',
      })
      expect(response.statusCode).toBe(400)
      const { invalidFields } = response.json<{ invalidFields: { path: string[]; message: string }[] }>()
      const firstMessages = Object.fromEntries(
        invalidFields.toReversed().map((field) => [field.path.join('.'), field.message]),
      )
      expect(firstMessages).toEqual(messages)
    }
  })

  test('the default error for a missing field names the field', async () => {
    const response = await call('POST', `/api/v1/orgs/${user.playground.code}/squids/deploy`, { payload: {} })
    expect(response.json()).toMatchObject({
      invalidFields: [
        { path: ['artifactUrl'], message: 'artifactUrl is required' },
        { path: ['options'], message: 'options is required' },
      ],
    })
  })

  test.each([
    ['broken JSON', 400, '{"code":'],
    ['a prototype', 400, '{"__proto__":{"a":1}}'],
    ['more than a megabyte', 405, `"${'x'.repeat(1_048_577)}"`],
  ])('%s is rejected with a readable error', async (_, status, payload) => {
    const response = await call('POST', '/api/v1/orgs', { payload, headers: { 'content-type': 'application/json' } })
    expect(response.statusCode).toBe(status)
    expect(response.json()).toMatchObject({ error: expect.any(String) as string })
  })
})

describe('text that the database cannot store', () => {
  const code = () => user.playground.code

  test.each<[where: string, path: () => string, field: string]>([
    ['in a path', () => '/api/v1/orgs/%00', 'code'],
    ['in a query', () => `/api/v1/orgs/${code()}/squids?search=a%00b`, 'search'],
    ['in a list of a query', () => `/api/v1/orgs/${code()}/squids/a@b/logs/history?container[]=%00`, 'container.0'],
  ])('NUL %s is rejected with the name of the field', async (_, path, field) => {
    const response = await call('GET', path())
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({
      error: 'The text must not contain the character NUL.',
      invalidFields: [{ path: field.split('.') }],
    })
  })

  test.each<[what: string, name: string, message: string]>([
    ['NUL', '"a\\u0000b"', 'The text must not contain the character NUL.'],
    ['half of a surrogate pair', '"a\\ud800b"', 'The text is not valid Unicode.'],
  ])('%s in a body is rejected by every call that takes a name', async (_, name, message) => {
    const { admin, code: orgCode } = await t.make.org()
    const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' }
    const bodies: [method: 'POST' | 'PUT', path: string, body: string][] = [
      ['PUT', 'user', `{"fullName": ${name}}`],
      ['PUT', `orgs/${orgCode}`, `{"name": ${name}}`],
      ['POST', 'user/api-tokens', `{"name": ${name}}`],
      ['PUT', 'user/onboarding', `{"onboardingForm": {"occupation": "a", "source": "b", "usage": ${name}}}`],
      ['POST', `orgs/${orgCode}/billing/estimate`, `{"manifest": ${name}}`],
      ['POST', 'user/api-tokens', `{"name": "a", ${name}: 1}`],
    ]
    for (const [method, path, payload] of bodies) {
      const response = await t.http.inject({ method, url: `/api/v1/${path}`, payload, headers })
      expect([path, response.statusCode, response.json<{ error: string }>().error]).toEqual([path, 400, message])
    }
  })

  test('a deeply nested body is rejected like any other invalid body', async () => {
    const payload = `{"name": ${'['.repeat(400_000)}${']'.repeat(400_000)}}`
    const response = await call('POST', '/api/v1/user/api-tokens', {
      payload,
      headers: { 'content-type': 'application/json' },
    })
    expect(response.statusCode).toBe(400)
  })
})

describe('unknown query parameters', () => {
  test('are rejected with the names of the valid parameters', async () => {
    const response = await call('GET', `/api/v1/orgs/${user.playground.code}/squids?name=a&pageSize=500`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({
      error: 'Unknown query parameter "pageSize". Valid parameters: name, search.',
      invalidFields: [{ path: ['pageSize'] }],
    })
    expect((await call('GET', '/api/v1/user?x=1')).json()).toMatchObject({
      error: 'Unknown query parameter "x". This call has no parameters.',
    })
  })

  test('are ignored by public endpoints, since email programs add parameters to links', async () => {
    const response = await call('GET', '/api/v1/auth/email/confirm?code=wrong&utm_source=mail')
    expect(response.statusCode).toBe(302)
  })

  test('a limit above the maximum page size of logs is rejected, not reduced silently', async () => {
    const history = `/api/v1/orgs/${user.playground.code}/squids/a@b/logs/history`
    const response = await call('GET', `${history}?limit=10001`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({ error: 'limit must be between 1 and 10000' })
    expect((await call('GET', `${history}?limit=10000`)).statusCode).toBe(404)
  })
})

test('an unknown log level is rejected with the names of the levels', async () => {
  const logs = `/api/v1/orgs/${user.playground.code}/squids/a@b/logs`
  for (const path of ['history', 'follow', 'download']) {
    const response = await call('GET', `${logs}/${path}?level[]=NOPE`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({
      error: 'Unknown level. Levels are DEBUG, INFO, NOTICE, WARNING, ERROR, CRITICAL, FATAL.',
    })
    // The public client sends these levels, in upper or lower case.
    for (const level of ['error', 'DEBUG', 'info', 'warning', 'fatal'])
      expect((await call('GET', `${logs}/${path}?level%5B%5D=${level}`)).statusCode).toBe(404)
  }
})

describe('responses', () => {
  const areas = {
    odd: {
      leak: endpoint({
        method: 'GET',
        path: '/v1/odd/leak',
        access: 'public',
        summary: 'Returns more than it declares',
        payload: z.object({ name: z.string(), list: z.array(z.object({ id: z.number() })) }),
      }),
      break: endpoint({
        method: 'GET',
        path: '/v1/odd/break',
        access: 'public',
        summary: 'Fails',
        payload: z.object({ name: z.string() }),
      }),
      refuse: endpoint({
        method: 'GET',
        path: '/v1/odd/refuse',
        access: 'public',
        summary: 'Always rejects',
        payload: z.null(),
      }),
    },
  }
  let server: FastifyInstance
  beforeAll(() => {
    const undeclaredResult = { name: 'a', secret: 'hush', list: [{ id: 1, secret: 'hush' }] }
    const testHandlers: Handlers<(typeof areas)['odd']> = {
      leak: async () => undeclaredResult,
      break: async () => {
        throw new Error('the password of the database is hush')
      },
      refuse: async () => {
        throw invalidField('a.b', 'Wrong')
      },
    }
    server = Fastify()
    server.setErrorHandler((error, request, reply) => {
      const { status, body } = errorBody(error, request.id)
      return reply.code(status).send(body)
    })
    mount(server, t.app, areas, { odd: testHandlers })
  })
  afterAll(() => server.close())

  test('contain only declared fields', async () => {
    expect((await server.inject('/api/v1/odd/leak')).json()).toEqual({ payload: { name: 'a', list: [{ id: 1 }] } })
  })

  test('reveal only the request id of an unexpected error', async () => {
    const response = await server.inject('/api/v1/odd/break')
    expect(response.statusCode).toBe(500)
    expect(response.body).not.toContain('hush')
    expect(response.json()).toMatchObject({ code: 'UNEXPECTED', requestId: expect.any(String) as string })
  })

  test('name the invalid field', async () => {
    expect((await server.inject('/api/v1/odd/refuse')).json()).toMatchObject({
      error: 'Wrong',
      invalidFields: [{ path: ['a', 'b'], message: 'Wrong' }],
    })
  })

  test('are not cached', async () => {
    for (const url of ['/api/v1/user', '/api/v1/auth/challenge', '/api/v1/orgs/none'])
      expect([url, (await call('GET', url)).headers['cache-control']]).toEqual([url, 'no-store'])
  })

  test('the server does not start without a handler for each endpoint', () => {
    expect(() => mount(Fastify(), t.app, areas, { odd: {} })).toThrow('No handler for odd.leak')
  })
})

test.each([
  ['a=1; b=2', 'b', '2'],
  ['ab=1; b=x=y', 'b', 'x=y'],
  ['ab=1', 'b', null],
  ['', 'b', null],
])('in the cookies "%s", the value of %s is %s', (header, name, value) => {
  expect(cookieOf(header, name)).toBe(value)
})

describe('behind a proxy', () => {
  test('the address reported by the trusted proxy counts, not an address that the client claims', async () => {
    const proxied = await startTestApp({ env: { SHOAL_TRUST_PROXY: 'true' } })
    try {
      const restore = (lastByte: number) =>
        proxied.http.inject({
          method: 'POST',
          url: '/api/v1/auth/restore',
          payload: { email: 'a@example.com' },
          headers: { 'x-forwarded-for': `10.0.0.${lastByte}, 203.0.113.9` },
        })
      for (let n = 0; n < 10; n++) expect((await restore(n)).statusCode).toBe(201)
      expect((await restore(11)).statusCode).toBe(429)
    } finally {
      await proxied.close()
    }
  })

  test('X-Forwarded-For is ignored unless SHOAL_TRUST_PROXY is set', async () => {
    const restore = (lastByte: number) =>
      t.http.inject({
        method: 'POST',
        url: '/api/v1/auth/restore',
        payload: { email: 'a@example.com' },
        headers: { 'x-forwarded-for': `10.0.0.${lastByte}` },
      })
    for (let n = 0; n < 10; n++) expect((await restore(n)).statusCode).toBe(201)
    expect((await restore(11)).statusCode).toBe(429)
  })
})
