import type { Query } from '@tanstack/react-query'
import { expect, test } from 'vitest'
import { pollWhile } from './poll.ts'

const queryWith = (data: string[] | undefined, queryHash = 'deployments') =>
  ({ queryHash, state: { data } }) as Pick<Query<string[]>, 'queryHash' | 'state'>

test('polls fast while active, but not for longer than the limit, and slowly otherwise', () => {
  let now = 0
  const poll = pollWhile<string[]>(
    (jobs) => jobs.length > 0,
    { fastMs: 1000, slowMs: 10_000, slowAfterMs: 60_000 },
    () => now,
  )

  expect(poll(queryWith(undefined))).toBe(10_000)
  expect(poll(queryWith(['build']))).toBe(1000)
  now = 59_999
  expect(poll(queryWith(['build']))).toBe(1000)
  now = 60_000
  expect(poll(queryWith(['build']))).toBe(10_000)
  expect(poll(queryWith(['build'], 'another'))).toBe(1000)

  expect(poll(queryWith([]))).toBe(10_000)
  expect(poll(queryWith(['restart']))).toBe(1000)
})
