import { expect, test } from 'vitest'
import { listsOf } from './local-list.ts'

const isText = (value: unknown): value is string => typeof value === 'string'

test('only valid items of valid lists are read', () => {
  expect(listsOf('{"1/acme":["a","b"],"1/empty":[]}', isText)).toEqual({ '1/acme': ['a', 'b'], '1/empty': [] })
  expect(listsOf('{"1/acme":["a",1,null],"other":"text"}', isText)).toEqual({ '1/acme': ['a'] })
  for (const text of [null, '', 'null', '[', '7', '"text"']) expect(listsOf(text, isText)).toEqual({})
})
