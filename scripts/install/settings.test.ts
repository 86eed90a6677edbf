import { expect, test } from 'vitest'
import { combineSettings } from './settings.ts'

const https = { SHOAL_PUBLIC_URL: 'https://shoal.example.com' }
const acme = { SHOAL_TLS: 'acme' }

test.for([
  ['an https URL is served by a proxy, which Shoal trusts', {}, https, 'true'],
  ['an http URL is not served by a proxy', {}, { SHOAL_PUBLIC_URL: 'http://10.0.0.1:4000' }, undefined],
  ['SHOAL_TLS replaces the proxy', {}, { ...https, ...acme }, undefined],
  ['SHOAL_TLS replaces the proxy of an existing installation', { ...https, SHOAL_TRUST_PROXY: 'true' }, acme, 'false'],
  ['a proxy replaces SHOAL_TLS', { ...https, ...acme, SHOAL_TRUST_PROXY: 'false' }, { SHOAL_TLS: 'off' }, 'true'],
  ['other changes keep the setting', { ...https, SHOAL_TRUST_PROXY: 'false' }, { SHOAL_LOG_LEVEL: 'warn' }, 'false'],
  ['a value of SHOAL_TRUST_PROXY in the changes has priority', {}, { ...https, SHOAL_TRUST_PROXY: 'false' }, 'false'],
] as const)('%s', ([, existing, changes, expected]) => {
  expect(combineSettings({ ...existing }, { ...changes })['SHOAL_TRUST_PROXY']).toBe(expected)
})
