import { contract, endpointsOf, isForOperators, type Endpoint } from '@shoal/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../testing/index.ts'

/**
 * For other callers than operators, no call reveals which endpoints of operators exist: the response to a call, however malformed, is
 * the response to the same call at a path that does not exist.
 */
let t: TestApp
let tokens: Record<string, string | null>
beforeAll(async () => {
  t = await startTestApp()
  const user = await t.make.user()
  tokens = {
    'no token': null,
    'an unknown token': 'shoal_made-up',
    'a session of a user': user.token,
    'an API token': await t.make.token(user, { scope: 'admin' }),
    'an API token of an operator': await t.make.token(await t.make.operator(), { scope: 'admin' }),
  }
})
afterAll(() => t.close())

type Call = { headers?: Record<string, string>; payload?: string; query?: string; param?: string }

const json = { 'content-type': 'application/json' }
const calls: Record<string, Call> = {
  'no body': {},
  'an empty object': { headers: json, payload: '{}' },
  'an unknown field': { headers: json, payload: '{"unknown":1}' },
  'a list': { headers: json, payload: '[]' },
  'invalid JSON': { headers: json, payload: '{' },
  'a prototype': { headers: json, payload: '{"__proto__":{"isOperator":true}}' },
  'text that Postgres cannot store': { headers: json, payload: String.raw`{"reason":"\u0000"}` },
  'a body that is too large': { headers: json, payload: `"${'x'.repeat(1_100_000)}"` },
  'a form': { headers: { 'content-type': 'application/x-www-form-urlencoded' }, payload: 'a=b' },
  'an unknown type': { headers: { 'content-type': 'image/png' }, payload: 'x' },
  'an invalid type': { headers: { 'content-type': 'no type' }, payload: 'x' },
  'a multipart body without a boundary': { headers: { 'content-type': 'multipart/form-data' }, payload: 'x' },
  'an unknown query parameter': { query: '?unknown=1' },
  'a repeated query parameter': { query: '?search=a&search=b' },
  'NUL in the path': { param: '%00' },
  'invalid encoding in the path': { param: '%zz' },
  'a long parameter': { param: 'x'.repeat(600) },
}

const operatorEndpoints = endpointsOf(contract).filter(([, e]) => isForOperators(e))

async function responseTo(method: string, path: string, { headers, payload, query = '' }: Call, token: string | null) {
  const response = await t.http.inject({
    method: method as Endpoint['method'],
    url: `${path}${query}`,
    headers: { ...headers, ...(token && { authorization: `token ${token}` }) },
    ...(payload !== undefined && { payload }),
  })
  const text = response.body.replaceAll(path, '{path}').replaceAll(/"requestId":"[^"]*"/g, '')
  const { date: _, 'content-length': __, ...otherHeaders } = response.headers
  return { status: response.statusCode, text, headers: otherHeaders }
}

describe.each(operatorEndpoints)('%s is an unknown path for everyone but operators', (_, e) => {
  test.each(Object.entries(calls))('with %s', async (_name, call) => {
    const at = (path: string) => `/api${path.replaceAll(/\{\w+\}/g, call.param ?? '1')}`
    for (const [credential, token] of Object.entries(tokens)) {
      const actual = await responseTo(e.method, at(e.path), call, token)
      const unknown = await responseTo(e.method, at(`/v1/unknown${e.path}`), call, token)
      expect({ credential, ...actual }).toEqual({ credential, ...unknown })
    }
  })

  test('with another method', async () => {
    const path = `/api${e.path.replaceAll(/\{\w+\}/g, '1')}`
    for (const method of ['HEAD', 'OPTIONS', 'PATCH'])
      expect(await responseTo(method, path, {}, null)).toEqual(await responseTo(method, '/api/v1/unknown', {}, null))
  })
})
