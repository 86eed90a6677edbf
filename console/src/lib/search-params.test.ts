import { expect, test } from 'vitest'
import { flag, list, oneOf, parseSearch, searchOf, stringifySearch, text } from './search-params.ts'

test('values are parsed as strings, even if they look like numbers', () => {
  expect(
    parseSearch('?code=12345678901234567890&acceptInviteId=007&month=2026-09&token=true&email=a%2Bb@c.de'),
  ).toEqual({
    code: '12345678901234567890',
    acceptInviteId: '007',
    month: '2026-09',
    token: 'true',
    email: 'a+b@c.de',
  })
})

test('a list is a repeated key in the query string', () => {
  expect(parseSearch('?tag=a&tag=b&tag=c')).toEqual({ tag: ['a', 'b', 'c'] })
  expect(stringifySearch({ tag: ['a', 'b'], q: 'x y', none: undefined, empty: '' })).toBe('?tag=a&tag=b&q=x+y')
  expect(stringifySearch({})).toBe('')
})

test('a page reads its own parameters and ignores invalid ones', () => {
  const read = searchOf({ q: text, tag: list, bySquid: flag, sort: oneOf('name', 'date') })
  expect(read(parseSearch('?q=a&q=b&tag=x&bySquid=yes&sort=size'))).toEqual({ tag: ['x'] })
  expect(read(parseSearch('?q=a&bySquid=true&sort=date'))).toEqual({ q: 'a', bySquid: 'true', sort: 'date' })
})
