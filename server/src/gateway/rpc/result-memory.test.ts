import { expect, test } from 'vitest'
import type { RpcOutcome } from './json-rpc.ts'
import { ResultMemory } from './result-memory.ts'

const result = (bytes: number): RpcOutcome => ({ kind: 'result', json: Buffer.alloc(bytes) })
const mb = 1_000_000

test('small results need no memory, and large ones of an organization are limited until they are released', () => {
  const memory = new ResultMemory(10 * mb)
  const releases = Array.from({ length: 3 }, () => memory.reserve(1, [result(2 * mb), result(mb)], () => {}))
  expect(releases).not.toContain(null)
  expect(memory.reserve(1, [result(2 * mb)], () => {})).toBeNull()
  for (let i = 0; i < 1_000; i++) expect(memory.reserve(1, [result(200_000)], () => {})).not.toBeNull()
  releases[0]?.()
  expect(memory.reserve(1, [result(2 * mb)], () => {})).not.toBeNull()
})

test('an organization with many large results loses some of them to another one', () => {
  const memory = new ResultMemory(10 * mb)
  let evicted = 0
  for (let i = 0; i < 3; i++) memory.reserve(1, [result(3 * mb)], () => void (evicted += 1))
  expect(memory.reserve(2, [result(3 * mb)], () => {})).not.toBeNull()
  expect(evicted).toBe(1)
})

test('a streamed result counts with the part that is in memory', () => {
  const memory = new ResultMemory(10 * mb)
  const stream: RpcOutcome = { kind: 'stream', chunks: (async function* () {})(), cancel: () => {} }
  const reserved = Array.from({ length: 3 }, () => memory.reserve(1, [stream], () => {}) !== null)
  expect(reserved).toEqual([true, true, false])
})
