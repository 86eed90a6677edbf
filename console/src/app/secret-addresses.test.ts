import { expect, test } from 'vitest'
import { hasSecret, withoutSecrets } from './secret-addresses.ts'

const secrets = [
  '/restore/confirm/tok3n',
  '/confirm-email?code=tok3n&email=a%40b.dev',
  '/verify-email?code=tok3n',
  '/oauth/github?code=tok3n&state=tok3n',
  '/squids?acceptInviteId=4&inviteKey=tok3n',
]

test.each(secrets)('%s has a secret, which is removed from reports', (address) => {
  expect(hasSecret(new URL(address, 'http://shoal.dev') as unknown as Location)).toBe(true)
  const url = `http://shoal.dev${address}`
  const report = withoutSecrets({ request: { url }, breadcrumbs: [{ message: `Opened "${url}" twice, ${address}` }] })
  expect(JSON.stringify(report)).not.toContain('tok3n')
  expect(JSON.stringify(report)).toContain('…')
})

test.each(['/squids?organization=a&search=code', '/restore', '/logs?from=2026-01-01T00:00:00Z'])(
  '%s has no secret, and stays in reports',
  (address) => {
    expect(hasSecret(new URL(address, 'http://shoal.dev') as unknown as Location)).toBe(false)
    expect(withoutSecrets({ address })).toEqual({ address })
  },
)
