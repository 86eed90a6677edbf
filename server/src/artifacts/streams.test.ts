import { expect, test } from 'vitest'
import { joinSmallChunks } from './streams.ts'

test.each([
  ['small chunks', [1, 1, 1, 1, 1, 1, 1], [3, 3, 1]],
  ['large chunks', [5, 3, 4], [5, 3, 4]],
  ['small and large chunks', [1, 7, 2, 1, 2], [8, 3, 2]],
  ['no content', [0], []],
])('%s are joined without changing the content', async (_, sizes, expected) => {
  const chunks = sizes.map((size, index) => Buffer.alloc(size, index))
  async function* content() {
    yield* chunks
  }
  const received: Buffer[] = []
  for await (const chunk of joinSmallChunks(content(), 3)) received.push(chunk)
  expect(received.map(({ length }) => length)).toEqual(expected)
  expect(Buffer.concat(received).equals(Buffer.concat(chunks))).toBe(true)
})
