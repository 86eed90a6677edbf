import { afterEach, expect, test } from 'vitest'
import { dropEarlyResponses, takeEarlyResponse } from './early-responses.ts'

const url = '/api/v1/user'

function startEarly(token = 'one') {
  const response = Promise.resolve(new Response('{}'))
  globalThis.earlyResponses = { token, responses: new Map([[url, response]]) }
  return response
}

afterEach(dropEarlyResponses)

test('an early response is returned once, and only for the URL that was requested', () => {
  const response = startEarly()
  expect(takeEarlyResponse('/api/v1/user?x=1', 'one')).toBeUndefined()
  expect(takeEarlyResponse(url, 'one')).toBe(response)
  expect(takeEarlyResponse(url, 'one')).toBeUndefined()
})

test.each(['another', null])('an early response is not returned for the token %s', (token) => {
  void startEarly()
  expect(takeEarlyResponse(url, token)).toBeUndefined()
  expect(takeEarlyResponse(url, 'one')).toBeUndefined()
})

test('a response that the first page did not take is not returned later', () => {
  void startEarly()
  dropEarlyResponses()
  expect(takeEarlyResponse(url, 'one')).toBeUndefined()
})

test('without early requests, nothing is returned', () => expect(takeEarlyResponse(url, 'one')).toBeUndefined())
