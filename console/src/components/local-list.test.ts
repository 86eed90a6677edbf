import { expect, test } from 'vitest'
import { listsOf } from './local-list.ts'

const isText = (value: unknown): value is string => typeof value === 'string'

test('invalid stored texts, lists and items are ignored', () => {
  expect(listsOf('{"1/acme":["a","b"],"1/empty":[]}', isText)).toEqual({ '1/acme': ['a', 'b'], '1/empty': [] })
  expect(listsOf('{"1/acme":["a",1,null],"other":"text"}', isText)).toEqual({ '1/acme': ['a'] })
  for (const text of [null, '', 'null', '[', '7', '"text"']) expect(listsOf(text, isText)).toEqual({})
})
