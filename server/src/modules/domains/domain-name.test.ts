import { expect, test } from 'vitest'
import { normalizeDomain } from './domain-name.ts'

const ownNames = ['console.shoal.test', 'squids.shoal.test']

test.each([
  ['API.Example.com.', 'api.example.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
])('%s is normalized to %s', (text, name) => expect(normalizeDomain(text, ownNames)).toBe(name))

test.each([
  '127.0.0.1',
  '[::1]',
  '0x7f.1',
  '2130706433',
  'localhost',
  'a.localhost',
  'printer.local',
  'example',
  '*.example.com',
  '_shoal.example.com',
  'a..example.com',
  '-a.example.com',
  'a.example.com:443',
  'https://a.example.com',
  'user@example.com',
  'a b.example.com',
  `${'a'.repeat(64)}.example.com`,
  `${'a.'.repeat(130)}com`,
  ...ownNames,
  'SQUIDS.shoal.test.',
  'below.squids.shoal.test',
])('%s is rejected', (text) => expect(() => normalizeDomain(text, ownNames)).toThrow(/public host|installation/))
