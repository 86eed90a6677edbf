import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressParser } from './address.ts'

const api = { kind: 'api' } as const

describe('URLs with the organization in the path', () => {
  const parse = addressParser('http://localhost:4001/{org}')
  const parsePath = (url: string) => parse('localhost:4001', url)

  test.each([
    ['/acme/my-squid@v1/api/graphql', 'my-squid@v1', '/graphql'],
    ['/acme/my-squid:prod/api/graphql?query=%7Ba%7D', 'my-squid:prod', '/graphql?query=%7Ba%7D'],
    ['/acme/my-squid%40v1/api/graphql', 'my-squid@v1', '/graphql'],
    ['/acme/my-squid%3Aprod/api/', 'my-squid:prod', '/'],
    ['/acme/my-squid@v1/api', 'my-squid@v1', '/'],
    ['/acme/my-squid@v1/api?a=1', 'my-squid@v1', '/?a=1'],
    ['/acme/my-squid@v1/api/a%2Fb/../c', 'my-squid@v1', '/a%2Fb/../c'],
    ['/acme/my-squid/graphql', 'my-squid:prod', '/graphql'],
    ['/acme/my-squid/v/v2/graphql?a=1', 'my-squid@v2', '/graphql?a=1'],
  ])('%s addresses the api of %s', (url, reference, path) =>
    expect(parsePath(url)).toEqual({ org: 'acme', reference, program: api, path }),
  )

  test.each([
    ['/acme/s@v1/hasura/v1/graphql?a=1', '/v1/graphql?a=1'],
    ['/acme/s@v1/hasura', '/'],
  ])('%s addresses Hasura', (url, path) =>
    expect(parsePath(url)).toEqual({ org: 'acme', reference: 's@v1', program: { kind: 'hasura' }, path }),
  )

  test('the metrics of a processor can be addressed', () => {
    expect(parsePath('/acme/s@v1/processors/eth-main/metrics?json=true')).toEqual({
      org: 'acme',
      reference: 's@v1',
      program: { kind: 'processor', name: 'eth-main' },
      path: '/metrics?json=true',
    })
  })

  test.each([
    '/',
    '/acme',
    '/acme/my-squid@v1',
    '/acme/my-squid@v1/graphql',
    '/acme/my-squid@v1/apis/graphql',
    '/acme/my-squid@v1/hasuras',
    '/acme/my-squid@v1/processors/eth',
    '/acme/my-squid@v1/processors/eth/metrics/x',
    '/acme/my-squid/v/x2/graphql',
    '/acme/my-squid%ZZv1/api',
    'acme/my-squid@v1/api',
    '*',
  ])('%s addresses nothing', (url) => expect(parsePath(url)).toBeNull())

  test('no URL makes the parser throw, and only the api and metrics can be addressed', () => {
    const word = fc.constantFrom(
      'acme',
      's@v1',
      's%40v1',
      '..',
      '',
      'api',
      'processors',
      'metrics',
      '%',
      '%2e%2e',
      'graphql',
      'v',
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(word, fc.string())), (parts) => {
        const target = parsePath(`/${parts.join('/')}`)
        expect(target === null || target.path.startsWith('/')).toBe(true)
        expect(target?.program.kind !== 'processor' || target.path.startsWith('/metrics')).toBe(true)
      }),
    )
  })
})

describe('URLs with the organization in the host', () => {
  const parse = addressParser('https://{org}.squids.example.com')

  test('the organization is the first label, regardless of port and case', () => {
    for (const host of ['acme.squids.example.com', 'acme.squids.example.com:8443', 'ACME.Squids.Example.com'])
      expect(parse(host, '/s@v1/api/graphql')).toMatchObject({ org: 'acme', reference: 's@v1', path: '/graphql' })
  })

  test('other hosts address nothing', () => {
    for (const host of [undefined, 'squids.example.com', 'acme.squids.example.com.evil.org', 'a.b.squids.example.com'])
      expect(parse(host, '/s@v1/api/graphql')).toBeNull()
  })
})

test('the path may have a prefix before the organization', () => {
  const parse = addressParser('https://example.com/squids/{org}')
  expect(parse('example.com', '/squids/acme/s@v1/api/graphql')).toMatchObject({ org: 'acme', path: '/graphql' })
  expect(parse('example.com', '/acme/s@v1/api/graphql')).toBeNull()
})
