import { expect, test } from 'vitest'
import { ReadLimit } from './read-limit.ts'

test('the 17th concurrent read is refused, and a read that failed no longer counts', async () => {
  const limit = new ReadLimit()
  const ends = Array.from({ length: 16 }, () => Promise.withResolvers<string>())
  const reads = ends.map(({ promise }) => limit.run(() => promise, 'refused'))
  expect(await limit.run(async () => 'read', 'refused')).toBe('refused')
  ends[0]?.reject(new Error('the database does not respond'))
  await expect(reads[0]).rejects.toThrow('does not respond')
  expect(await limit.run(async () => 'read', 'refused')).toBe('read')
  for (const { resolve } of ends) resolve('read')
  expect(new Set(await Promise.all(reads.slice(1)))).toEqual(new Set(['read']))
})
