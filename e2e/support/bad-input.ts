import { endpointsOf, openApi, type Areas, type Endpoint } from '@shoal/contract'
import fc from 'fast-check'

/** An HTTP request that is sent unchanged, without encoding or validation. */
export type BadCall = {
  endpoint: string
  method: Endpoint['method']
  /** The percent-encoded path, often with a wrong encoding. */
  path: string
  headers: Record<string, string>
  body: Buffer | null
  token: 'session' | 'api token' | 'wrong' | 'none'
}

/** Codes of organizations and references of squids that exist: with other values, every call would fail the first check. */
export type ValidValues = { codes: string[]; references: string[] }

type Schema = {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
}

/**
 * Generates calls to all endpoints with wrong values, types, encodings and sizes; the same `seed` gives the same calls. The first calls
 * are one to each endpoint, at a path that its route accepts; the others are random.
 * @throws if `count` is less than the number of endpoints
 */
export function badCalls(areas: Areas, valid: ValidValues, options: { seed: number; count: number }): BadCall[] {
  const { seed, count } = options
  const endpoints = endpointsOf(areas)
  if (count < endpoints.length) throw new Error(`${count} calls are too few for ${endpoints.length} endpoints`)
  const bodies = bodySchemas(areas)
  const callTo = ([name, endpoint]: [string, Endpoint], path: fc.Arbitrary<string>) =>
    badCall(name, endpoint, { path, schema: bodies.get(name) ?? null })
  const oneOfEach = fc.tuple(...endpoints.map((named) => callTo(named, validPathOf(named[1], valid))))
  const random = fc.constantFrom(...endpoints).chain((named) => callTo(named, pathOf(named[1], valid)))
  return [
    ...fc.sample(oneOfEach, { seed, numRuns: 1 }).flat(),
    ...fc.sample(random, { seed, numRuns: count - endpoints.length }),
  ]
}

type CallParts = { path: fc.Arbitrary<string>; schema: Schema | null }

function badCall(name: string, endpoint: Endpoint, { path, schema }: CallParts): fc.Arbitrary<BadCall> {
  return fc
    .record({
      path,
      query: queryOf(endpoint),
      bodyAndHeaders:
        schema || endpoint.kind === 'upload'
          ? bodyOf(schema ?? {})
          : fc.oneof({ weight: 4, arbitrary: withoutBody }, bodyOf({})),
      token: fc.oneof(
        { weight: 8, arbitrary: fc.constant<BadCall['token']>('session') },
        fc.constantFrom<BadCall['token']>('api token', 'wrong', 'none'),
      ),
    })
    .map(({ path, query, bodyAndHeaders, token }) => ({
      endpoint: name,
      method: endpoint.method,
      path: `/api${path}${query && `?${query}`}`,
      ...bodyAndHeaders,
      token,
    }))
}

const badTexts = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udc00',
  '\r\nSet-Cookie: a=b',
  '\u202Eabc',
  '𝒳'.repeat(300),
  'x'.repeat(20_000),
  '../../etc/passwd',
  '/',
  '//',
  '.',
  '..',
  '\\',
  '%',
  '%00',
  '%zz',
  'a@b',
  'a:b',
  '@',
  ':',
  '*',
  '(((((',
  '[',
  '{}',
  "'; drop table users; --",
  '<script>alert(1)</script>',
  '${1}',
  '{{7*7}}',
  '__proto__',
  'constructor',
  'toString',
  '-1',
  '0',
  '1',
  '1.5',
  '1e309',
  '0x10',
  'NaN',
  'true',
  'null',
  'undefined',
  '9007199254740993',
  '9'.repeat(40),
  '2026-13-45T99:99:99Z',
  '0000-01-01T00:00:00Z',
  '2026-11-22',
  '+275760-09-13T00:00:00.001Z',
  '-000001-01-01T00:00:00Z',
  'http://127.0.0.1/',
  'http://[::1]:1/',
  'javascript:alert(1)',
  'https://',
  'a@b.co',
  'A'.repeat(300) + '@b.co',
]

/** Percent-encodings that are malformed or do not decode to valid UTF-8. */
const rawTexts = ['%', '%2', '%zz', '%ff', '%C0%80', '%ED%A0%80', '%F5%80%80%80', '%00', '%2F%2E%2E%2F', '%u0041']

const encoded = (text: string) => encodeURIComponent(text.toWellFormed())

const badText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...badTexts) },
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
)
const badValue: fc.Arbitrary<unknown> = fc.oneof(
  badText,
  fc.constantFrom(-1, 0, 1, 1.5, -0, 2 ** 31, 2 ** 53, 1e308, -1e-320, true, false, null, [], {}, [[]], [null], {
    '': '',
  }),
  fc.constantFrom(Array<number>(5000).fill(1), nested(50), JSON.parse('{"__proto__":{"isAdmin":true}}') as unknown),
  fc.jsonValue({ maxDepth: 3 }),
)

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: [nested(depth - 1)] }
}

/** Generates paths with mostly valid values. */
function pathOf(endpoint: Endpoint, valid: ValidValues): fc.Arbitrary<string> {
  const wrong = fc.oneof(badText.map(encoded), fc.constantFrom(...rawTexts))
  return pathWith(endpoint, (name) => fc.oneof({ weight: 3, arbitrary: validParam(name, valid) }, wrong))
}

const validPathOf = (endpoint: Endpoint, valid: ValidValues) => pathWith(endpoint, (name) => validParam(name, valid))

const validParam = (name: string, { codes, references }: ValidValues) =>
  fc.constantFrom(...(name === 'code' ? codes : name === 'reference' ? references : ['1', '2', 'eth', 'prod']))

function pathWith({ path }: Endpoint, valueOf: (name: string) => fc.Arbitrary<string>): fc.Arbitrary<string> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
  return fc
    .tuple(...names.map(valueOf))
    .map((values) => names.reduce((text, name, n) => text.replace(`{${name}}`, () => values[n] ?? ''), path))
}

function queryOf({ query }: Endpoint): fc.Arbitrary<string> {
  const declared = Object.keys('shape' in query ? (query.shape as object) : {})
  const key = fc.constantFrom(
    ...declared,
    ...declared.map((name) => `${name}[]`),
    'unknown',
    '__proto__',
    '[]',
    '%00',
    '',
  )
  const value = fc.oneof(badText.map(encoded), fc.constantFrom(...rawTexts))
  const pairs = fc.array(
    fc.tuple(key, value).map((pair) => pair.join('=')),
    { minLength: 1, maxLength: 4 },
  )
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant('') },
    pairs.map((list) => list.join('&')),
  )
}

type BodyAndHeaders = Pick<BadCall, 'headers' | 'body'>
const withoutBody: fc.Arbitrary<BodyAndHeaders> = fc.constant({ headers: {}, body: null })
const json = { 'content-type': 'application/json' }

function bodyOf(schema: Schema): fc.Arbitrary<BodyAndHeaders> {
  const text = valueOf(schema).map((value) => JSON.stringify(value))
  return fc.oneof(
    { weight: 12, arbitrary: text.map((body) => ({ headers: json, body: Buffer.from(body) })) },
    text.chain((body) => fc.nat(body.length).map((end) => ({ headers: json, body: Buffer.from(body.slice(0, end)) }))),
    text.chain((body) => fc.constantFrom(...wrongEncodings(body))),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => ({ headers: json, body: Buffer.from(bytes) })),
    withoutBody,
  )
}

/** Returns a valid body with wrong headers, and bodies that no real client would send. */
const wrongEncodings = (body: string): BodyAndHeaders[] => [
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'a',
  ].map((type) => ({ headers: { 'content-type': type }, body: Buffer.from(body) })),
  { headers: { 'content-type': 'application/json; charset=utf-16' }, body: Buffer.from(body, 'utf16le') },
  { headers: { 'content-type': 'application/json; charset=nonsense' }, body: Buffer.from(body) },
  { headers: { ...json, 'content-encoding': 'gzip' }, body: Buffer.from(body) },
  { headers: json, body: Buffer.from(`\ufeff${body}`) },
  { headers: json, body: Buffer.from(body.replaceAll('"', '\\"')) },
  { headers: json, body: Buffer.from('['.repeat(50_000)) },
  { headers: json, body: Buffer.from('{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000)) },
  { headers: json, body: Buffer.from('{"a":1,"a":1e999999,"__proto__":1,"constructor":{"prototype":1}}') },
  { headers: json, body: Buffer.alloc(1_200_000, 0x61) },
  {
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
    body: Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="\0"\r\n\r\nx\r\n--b'),
  },
]

/** Generates mostly values that match the schema, so that some calls reach the handler. */
function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 5, arbitrary: validOf(schema) }, badValue)
}

function validOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum?.length) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (choices?.length) return fc.oneof(...choices.map(valueOf))
  const [type] = [schema.type].flat()
  if (type === 'object') {
    const fields = Object.entries(schema.properties ?? {}).map(([key, inner]): [string, fc.Arbitrary<unknown>] => [
      key,
      valueOf(inner),
    ])
    // Three quarters of the values have all fields, so that some calls pass the check of required fields.
    const shape = Object.fromEntries(fields)
    return fc.oneof({ weight: 3, arbitrary: fc.record(shape) }, fc.record(shape, { requiredKeys: [] }))
  }
  if (type === 'array') return fc.array(valueOf(schema.items ?? {}), { maxLength: 3 })
  if (type === 'integer' || type === 'number') return fc.oneof(fc.integer({ min: -5, max: 50 }), fc.double())
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (type === 'string')
    return fc.oneof(
      fc.constantFrom('abc', 'squid-one', 'a@b.co', 'https://example.com/x', '2026-11-22T00:00:00Z'),
      badText,
    )
  return badValue
}

/** Returns the JSON schemas of all bodies, by endpoint. */
function bodySchemas(areas: Areas): Map<string, Schema> {
  const document = openApi(areas, '1') as unknown as {
    paths: Record<
      string,
      Record<string, { operationId: string; requestBody?: { content: Record<string, { schema: Schema }> } }>
    >
  }
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  return new Map(
    operations.flatMap(({ operationId, requestBody }) => {
      const schema = requestBody?.content['application/json']?.schema
      return schema ? [[operationId, schema] as const] : []
    }),
  )
}
