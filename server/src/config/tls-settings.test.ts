import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'

const acme = {
  SHOAL_TLS: 'acme',
  SHOAL_PUBLIC_URL: 'https://console.example.com',
  SHOAL_GATEWAY_URL: 'https://squids.example.com/{org}',
}

test('with an authority, the console and the gateway get certificates', () => {
  expect(loadConfig({}).tls).toBeNull()
  expect(loadConfig(acme).tls).toEqual({
    consoleName: 'console.example.com',
    ownNames: ['console.example.com', 'squids.example.com'],
    source: { kind: 'acme' },
  })
})

test.each([
  [{ SHOAL_TRUST_PROXY: 'true' }, 'SHOAL_TRUST_PROXY must be unset'],
  [{ SHOAL_PUBLIC_URL: 'http://console.example.com' }, 'SHOAL_PUBLIC_URL'],
  [{ SHOAL_PUBLIC_URL: 'https://192.0.2.1' }, 'SHOAL_PUBLIC_URL'],
  [{ SHOAL_PUBLIC_URL: 'https://localhost' }, 'SHOAL_PUBLIC_URL'],
  [{ SHOAL_GATEWAY_URL: 'https://console.example.com/{org}' }, 'must have different names'],
  [{ SHOAL_GATEWAY_URL: 'https://{org}.example.com' }, 'must have {org} in its path'],
  [{ SHOAL_TLS: 'files' }, 'SHOAL_TLS_CERTIFICATE_FILE and SHOAL_TLS_KEY_FILE must both be set'],
  [{ SHOAL_DNS_SERVERS: 'dns.example.com' }, 'SHOAL_DNS_SERVERS'],
])('%j is refused', (settings, message) => {
  expect(() => loadConfig({ ...acme, ...settings })).toThrow(message)
})
