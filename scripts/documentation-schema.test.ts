import { expect, test } from 'vitest'
import { schemaText, type Schema } from '../site/.vitepress/generate/schema-text.ts'

const string = { type: 'string' }

test('the elements of an array are in parentheses if they are a union or an intersection', () => {
  expect(schemaText({ type: 'array', items: string })).toBe('string[]')
  expect(schemaText({ type: 'array', items: { type: 'object', additionalProperties: string } })).toBe(
    'Record<string, string>[]',
  )
  expect(schemaText({ type: 'array', items: { enum: ['a', 'b'] } })).toBe('("a" | "b")[]')
  expect(schemaText({ type: 'array', items: { type: ['string', 'null'] } })).toBe('(string | null)[]')
  const objects: Schema[] = [{ properties: { a: string } }, { properties: { b: string } }]
  expect(schemaText({ type: 'array', items: { oneOf: objects } })).toBe('({\n  a?: string\n} | {\n  b?: string\n})[]')
})
