import { afterEach, expect, test, vi } from 'vitest'
import { takeEarlyResponse } from './early-responses.ts'

const url = '/api/v1/user'

function startEarly(token = 'one') {
  const response = Promise.resolve(new Response('{}'))
  globalThis.earlyResponses = { token, responses: new Map([[url, response]]) }
  return response
}

afterEach(() => {
  globalThis.earlyResponses = undefined
  vi.restoreAllMocks()
})

test('an early response is returned once, and only for its request', () => {
  vi.spyOn(performance, 'now').mockReturnValue(500)
  const response = startEarly()
  expect(takeEarlyResponse('/api/v1/user?x=1', 'one')).toBeUndefined()
  expect(takeEarlyResponse(url, 'one')).toBe(response)
  expect(takeEarlyResponse(url, 'one')).toBeUndefined()
})

test.each(['another', null])('an early response is not returned for the token %s', (token) => {
  vi.spyOn(performance, 'now').mockReturnValue(500)
  void startEarly()
  expect(takeEarlyResponse(url, token)).toBeUndefined()
  expect(takeEarlyResponse(url, 'one')).toBeUndefined()
})

test('an old response is not returned', () => {
  vi.spyOn(performance, 'now').mockReturnValue(10_001)
  void startEarly()
  expect(takeEarlyResponse(url, 'one')).toBeUndefined()
})

test('without early requests, nothing is returned', () => expect(takeEarlyResponse(url, 'one')).toBeUndefined())
