import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readResponse, splitArray } from './raw-json.ts'

const json = fc.jsonValue({ maxDepth: 4 })
/** Nodes write envelope fields in different orders, some with spaces; some return our numeric ids as strings. */
const envelope = fc.record({
  order: fc.shuffledSubarray(['jsonrpc', 'id', 'result'], { minLength: 3, maxLength: 3 }),
  id: fc.oneof(fc.nat(), fc.nat().map(String), fc.constant(null)),
  space: fc.constantFrom('', ' ', '\n  '),
})

const responseOf = (result: unknown, { order, id, space }: { order: string[]; id: unknown; space: string }): Buffer => {
  const fields: Record<string, unknown> = { jsonrpc: '2.0', id, result }
  const text = order.map((key) => `"${key}":${space}${JSON.stringify(fields[key])}`).join(`,${space}`)
  return Buffer.from(`{${space}${text}${space}}`)
}

test('a result is extracted unchanged from any envelope', () => {
  fc.assert(
    fc.property(json, envelope, (value, layout) => {
      const response = readResponse(responseOf(value, layout))
      expect('result' in response && JSON.parse(response.result.toString())).toEqual(JSON.parse(JSON.stringify(value)))
    }),
    { numRuns: 500 },
  )
})

test('results that contain text resembling the end of an envelope are not truncated', () => {
  for (const value of [
    { id: 1 },
    [{ jsonrpc: '2.0', id: 1 }],
    '","id":1}',
    { a: '\\","id":1}' },
    'x\\',
    null,
    [],
    '',
  ]) {
    const response = readResponse(responseOf(value, { order: ['jsonrpc', 'id', 'result'], id: 1, space: '' }))
    expect('result' in response && JSON.parse(response.result.toString())).toEqual(value)
  }
})

test('an error is recognized, even next to a null result', () => {
  const error = { code: 3, message: 'execution reverted', data: '0x08c379a0' }
  expect(readResponse(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, error })))).toEqual({ error })
  expect(readResponse(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: null, error })))).toEqual({ error })
  expect(readResponse(Buffer.from('{"result":null,"error":{"code":3,"message":"no"}}'))).toEqual({
    error: { code: 3, message: 'no' },
  })
  for (const text of ['', 'nonsense', '5', '{}', '{"jsonrpc":"2.0"}', '<html>'])
    expect(() => readResponse(Buffer.from(text))).toThrow(/JSON/)
})

test('the elements of an array are split unchanged', () => {
  fc.assert(
    fc.property(fc.array(json), fc.constantFrom(undefined, 2), (values, indent) => {
      const elements = splitArray(Buffer.from(JSON.stringify(values, null, indent)))
      expect(elements?.map((m) => JSON.parse(m.toString()) as unknown)).toEqual(JSON.parse(JSON.stringify(values)))
    }),
    { numRuns: 500 },
  )
  for (const text of ['', '{}', '{"a":[1]}', '[1', '"[1]"']) expect(splitArray(Buffer.from(text))).toBeNull()
})
