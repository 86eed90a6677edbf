import { DisplayName, OrgName, PersonName, TokenName } from '@shoal/contract'
import { expect, test } from 'vitest'
import { nameInMail } from '../../mail/index.ts'
import { cleanName } from '../auth/oauth-providers.ts'

const fields = {
  OrgName,
  TokenName,
  PersonName: PersonName('Name is required'),
  DisplayName: DisplayName('Name is required'),
}

test.each([
  'Click https://evil.example now',
  'Evil\r\nBcc: x@y.z',
  'Null\0byte',
  'Line\u2028separator',
  'Turned\u202Earound',
  'Bell\u0007',
  // These look like “Alice” and like an empty name.
  'Al\u200Bice',
  'Al\u200Dice',
  'Ali\u00ADce\u{E0041}',
  'Alice\u3164\u3164',
])('the name %j is rejected, and an email that contains it shows it on one line without links', (name) => {
  for (const [field, schema] of Object.entries(fields))
    expect([field, schema.safeParse(name).success]).toEqual([field, false])
  expect(nameInMail(name).replaceAll('.\u200B', '.')).not.toMatch(/:\/\/|[\p{Cc}\p{Cf}\u2028\u3164]/u)
})

test.each(['Pay at evil.example/now', 'Pay at www.evil.example'])(
  'the name %j, from which email programs make a link, is rejected',
  (name) => {
    for (const [field, schema] of Object.entries(fields))
      expect([field, schema.safeParse(name).success]).toEqual([field, false])
  },
)

test.each([
  ['Turned\u202Earound', 'Turnedaround'],
  ['Al\u200Bice', 'Alice'],
  ['Bell\u0007', 'Bell'],
  ['\u3164', 'ada'],
  ['Pay at www.evil.example', 'Pay at www evil example'],
  ['Click https://evil.example/now', 'Click https   evil.example now'],
  ['Ada <Lovelace>', 'Ada  Lovelace'],
  ['St. John', 'St. John'],
  [`${'a'.repeat(99)} b`, 'a'.repeat(99)],
])('the name %j from a sign-in provider becomes the valid name %j', (name, cleaned) => {
  expect(cleanName(name, 'ada@example.com')).toBe(cleaned)
  expect(fields.PersonName.safeParse(cleaned).success).toBe(true)
})

test('a domain is a valid name, but an email shows it so that email programs make no link from it', () => {
  expect(OrgName.parse('Acme.io')).toBe('Acme.io')
  expect(nameInMail('Acme.io')).toBe('Acme.\u200Bio')
  expect(nameInMail('St. Gallen v1.')).toBe('St. Gallen v1.')
})

test.each([
  'Acme Labs',
  'Müller & Söhne',
  '株式会社',
  'Ada’s team (EU) #1',
  'שלום',
  'a/b',
  'می\u200Cخواهم',
  '👩\u200D🚀 Labs',
])('the name %j is accepted, and an email shows it unchanged', (name) => {
  expect(OrgName.parse(name)).toBe(name)
  expect(nameInMail(name)).toBe(name)
})
