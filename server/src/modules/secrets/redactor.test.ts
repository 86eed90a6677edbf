import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRedactor, redactJson, minRedactedLength } from './redactor.ts'

test('values with a common prefix are redacted completely, and short values are kept', () => {
  const redact = createRedactor(['secret', 'secret-and-more', 'a.b*c(', 'short'])
  expect(redact('secret-and-more, secret, a.b*c(, axb, short')).toBe('***, ***, ***, axb, short')
  expect(createRedactor([])('plain text')).toBe('plain text')
})

const value = fc.string({ minLength: minRedactedLength, maxLength: 30 }).filter((text) => text.trim() === text)

test('redacted JSON contains none of the values and is valid', () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), fc.jsonValue(), (values, filler) => {
      const [first = '', ...others] = values
      const record = { msg: `before ${first} after`, [first]: others, err: { stack: [filler, JSON.stringify(values)] } }
      const redacted: unknown = JSON.parse(redactJson(createRedactor(values), JSON.stringify(record)))
      const texts: string[] = []
      const collect = (part: unknown): void => {
        if (typeof part === 'string') texts.push(part)
        else if (typeof part === 'object' && part !== null)
          for (const [key, item] of Object.entries(part)) {
            texts.push(key)
            collect(item)
          }
      }
      collect(redacted)
      for (const text of texts) for (const hidden of values) expect(text).not.toContain(hidden)
    }),
  )
})

test('values are redacted even if they are very long or very many', () => {
  const long = `begin ${'x'.repeat(65_000)} end`
  const many = Array.from({ length: 500 }, (_, i) => `value ${i} ${'y'.repeat(500)}`)
  const redact = createRedactor([long, ...many, 'value 7'])
  expect(redact(`a ${long} b ${many[499]} c ${many[7]} d value 7`)).toBe('a *** b *** c *** d ***')
})
