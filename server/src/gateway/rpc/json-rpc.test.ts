import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isFault, parseCalls } from './json-rpc.ts'

const id = fc.oneof(fc.integer(), fc.string(), fc.constant(null))

test('each call of any input keeps its position and id, or becomes a fault with that id', () => {
  const member = fc.oneof(
    fc.record({
      jsonrpc: fc.constant('2.0'),
      id,
      method: fc.stringMatching(/^[a-z]+_[a-zA-Z]+$/),
      params: fc.array(fc.jsonValue()),
    }),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(fc.array(member, { minLength: 1, maxLength: 20 }), (members) => {
      const { isBatch, calls } = parseCalls(JSON.stringify(members), 20)
      expect(isBatch).toBe(true)
      expect(calls).toHaveLength(members.length)
      for (const [i, parsed] of calls.entries()) {
        const given = members[i] as { id?: unknown; method?: string } | null
        const body = isFault(parsed) ? [JSON.parse(parsed.id)] : [parsed.method, parsed.id]
        const idText = given?.id === undefined ? null : JSON.stringify(given.id)
        expect(body).toEqual(isFault(parsed) ? [idOf(given)] : [given?.method, idText])
      }
    }),
  )
})

test('no input makes it throw', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(parseCalls(text, 5).calls).not.toHaveLength(0)
    }),
  )
})

const idOf = (given: unknown): unknown => {
  const found =
    typeof given === 'object' && given !== null && !Array.isArray(given) ? (given as { id?: unknown }).id : null
  return typeof found === 'string' || typeof found === 'number' ? found : null
}
