import { expect, test } from 'vitest'
import { BodyParts } from './body-parts.ts'

test('thousands of tiny parts are joined in their order', () => {
  const text = 'äx'.repeat(5_000)
  const parts = new BodyParts()
  for (const byte of Buffer.from(text)) parts.add(Buffer.from([byte]))
  expect([parts.length, parts.text()]).toEqual([Buffer.byteLength(text), text])
})
