import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../server/src/config/config.ts'
import { listenAddresses } from '../../server/src/ports/listen-addresses.ts'
import { backupUnit, serverUnit, socketUnit } from './units.ts'

/** Returns the addresses in the socket unit of an installation with these settings, without ::1, which some machines lack. */
const streamsOf = (settings: Record<string, string>) =>
  [...(socketUnit(listenAddresses(loadConfig(settings))) ?? '').matchAll(/^ListenStream=(.*)$/gm)]
    .map(([, stream = '']) => stream)
    .filter((stream) => !stream.startsWith('[::1]'))

test.each([
  ['the default settings', {}, ['127.0.0.1:4000', '127.0.0.1:4001']],
  ['an IPv6 address', { SHOAL_HOST: '2001:db8::1' }, ['[2001:db8::1]:4000', '[2001:db8::1]:4001']],
  ['one role', { SHOAL_ROLES: 'gateway', SHOAL_GATEWAY_PORT: '4010' }, ['127.0.0.1:4010']],
  [
    'HTTPS on all addresses',
    {
      SHOAL_TLS: 'acme',
      SHOAL_ACME_EMAIL: 'me@example.com',
      SHOAL_PUBLIC_URL: 'https://shoal.example.com',
      SHOAL_GATEWAY_URL: 'https://squids.example.com/{org}',
    },
    ['127.0.0.1:4000', '127.0.0.1:4001', '443', '80'],
  ],
])('systemd opens the ports of %s', (_, settings, expected) => {
  expect(streamsOf(settings)).toEqual(expected)
})

test.each([
  ['a host name', { SHOAL_HOST: 'localhost' }],
  ['ports that the kernel chooses', { SHOAL_PORT: '0', SHOAL_GATEWAY_PORT: '0' }],
  ['a worker alone', { SHOAL_ROLES: 'worker' }],
])('systemd opens no ports for %s', (_, settings) => {
  expect(socketUnit(listenAddresses(loadConfig(settings)))).toBe(null)
})

describe('the units are as in golden/', () => {
  test('of a server that runs as root, with the data on another disk, whose name has special characters', () =>
    expect(serverUnit('root', ['/srv/all data/100%/"shoal"', '/mnt/disk/shoal'])).toMatchFileSnapshot(
      'golden/root.service',
    ))
  test('of a server that runs as an ordinary user', () =>
    expect(serverUnit('shoal', ['/var/lib/shoal-data'])).toMatchFileSnapshot('golden/user.service'))
  test('of the backup', () => expect(backupUnit('root')).toMatchFileSnapshot('golden/backup.service'))
})
