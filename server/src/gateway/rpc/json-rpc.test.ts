import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isInvalidCall, parseCalls } from './json-rpc.ts'

const id = fc.oneof(fc.integer(), fc.string(), fc.constant(null))

test('each element of a batch is parsed as a call with its id, or becomes an `InvalidCall` with that id', () => {
  const element = fc.oneof(
    fc.record({
      jsonrpc: fc.constant('2.0'),
      id,
      method: fc.stringMatching(/^[a-z]+_[a-zA-Z]+$/),
      params: fc.array(fc.jsonValue()),
    }),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(fc.array(element, { minLength: 1, maxLength: 20 }), (elements) => {
      const { isBatch, calls } = parseCalls(JSON.stringify(elements), 20)
      expect(isBatch).toBe(true)
      expect(calls).toHaveLength(elements.length)
      for (const [i, parsed] of calls.entries()) {
        const sent = elements[i] as { id?: unknown; method?: string } | null
        const body = isInvalidCall(parsed) ? [JSON.parse(parsed.id)] : [parsed.method, parsed.id]
        const idText = sent?.id === undefined ? null : JSON.stringify(sent.id)
        expect(body).toEqual(isInvalidCall(parsed) ? [idOf(sent)] : [sent?.method, idText])
      }
    }),
  )
})

test('no input makes the parser throw', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(parseCalls(text, 5).calls).not.toHaveLength(0)
    }),
  )
})

const idOf = (value: unknown): unknown => {
  const ownId =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as { id?: unknown }).id : null
  return typeof ownId === 'string' || typeof ownId === 'number' ? ownId : null
}
