import { DisplayName, OrgName, PersonName, TokenName } from '@shoal/contract'
import { expect, test } from 'vitest'
import { nameInMail } from '../../mail/index.ts'

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
])('the name %j is rejected, and an email that contains it shows it on one line without links', (name) => {
  for (const [field, schema] of Object.entries(fields))
    expect([field, schema.safeParse(name).success]).toEqual([field, false])
  expect(nameInMail(name)).not.toMatch(/:\/\/|[\p{Cc}\u2028\u202E]/u)
})

test.each(['Acme Labs', 'Müller & Söhne', '株式会社', 'Ada’s team (EU) #1', 'שלום', 'a/b'])(
  'the name %j is accepted, and an email shows it unchanged',
  (name) => {
    expect(OrgName.parse(name)).toBe(name)
    expect(nameInMail(name)).toBe(name)
  },
)
