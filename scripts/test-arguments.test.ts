import { expect, test } from 'vitest'
import { splitArguments } from './test-arguments.ts'

test('the value of an option, such as the name of a test, is not a path', () => {
  expect(splitArguments(['-t', 'a squid', 'e2e/slow', '--bail', '1', '--reporter=dot'])).toEqual({
    paths: ['e2e/slow'],
    options: ['-t', 'a squid', '--bail', '1', '--reporter=dot'],
  })
})

test('without paths, all arguments are options', () => {
  expect(splitArguments(['-t', 'a squid'])).toEqual({ paths: [], options: ['-t', 'a squid'] })
})
