import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'

test.each([
  ['SHOAL_CONTAINER_DISK_MB', '63', '0 or a whole number of at least 64'],
  ['SHOAL_BUILD_DISK_MB', '-1', '0 or a whole number of at least 256'],
  ['SHOAL_BUILD_DISK_MB', '300.5', '0 or a whole number of at least 256'],
  ['SHOAL_PORT', '70000', 'a whole number from 0 to 65535'],
  ['SHOAL_BUILD_MEMORY_MB', '1', 'a whole number of at least 256'],
  ['SHOAL_BUILD_MINUTES', '0', 'a number above 0'],
])('an invalid %s is refused with the values that it may have', (name, value, allowed) => {
  expect(() => loadConfig({ [name]: value })).toThrow(`${name} is "${value}", but must be ${allowed}.`)
})

test('a limit of disk space may be disabled', () => {
  const { SHOAL_CONTAINER_DISK_MB, SHOAL_BUILD_DISK_MB } = loadConfig({
    SHOAL_CONTAINER_DISK_MB: '0',
    SHOAL_BUILD_DISK_MB: '256',
  })
  expect([SHOAL_CONTAINER_DISK_MB, SHOAL_BUILD_DISK_MB]).toEqual([0, 256])
})
