import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { requestHeaders, responseHeaders, schemeOf } from './headers.ts'

const forwardedHeader = (remoteAddress: string) => {
  const headers = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https', host: 'squids.example.com' }
  const request = { headers, rawHeaders: Object.entries(headers).flat(), socket: { remoteAddress } }
  const sentHeaders = requestHeaders(request as unknown as IncomingMessage, true)
  return (name: string) => sentHeaders[sentHeaders.indexOf(name) + 1]
}

test('a trusted proxy reports the address and scheme of its client', () => {
  expect(forwardedHeader('127.0.0.1')('x-forwarded-for')).toBe('203.0.113.7, 127.0.0.1')
  expect(forwardedHeader('127.0.0.1')('x-forwarded-proto')).toBe('https')
})

test.each(['198.18.4.2', '::ffff:198.19.0.7'])('a squid at %s cannot report another address or scheme', (address) => {
  expect(forwardedHeader(address)('x-forwarded-for')).toBe(address)
  expect(forwardedHeader(address)('x-forwarded-proto')).toBe('http')
})

test.each([
  { remoteAddress: '127.0.0.1', isProxyTrusted: true, encrypted: false, scheme: 'https' },
  { remoteAddress: '127.0.0.1', isProxyTrusted: false, encrypted: false, scheme: 'http' },
  { remoteAddress: '127.0.0.1', isProxyTrusted: false, encrypted: true, scheme: 'https' },
  { remoteAddress: '198.18.4.2', isProxyTrusted: true, encrypted: false, scheme: 'http' },
])('the scheme of a request from $remoteAddress is $scheme', ({ isProxyTrusted, scheme, ...socket }) => {
  const request = { headers: { 'x-forwarded-proto': 'https' }, socket }
  expect(schemeOf(request as unknown as IncomingMessage, isProxyTrusted)).toBe(scheme)
})

test('a squid cannot instruct the proxy of the operator to send its files or other locations', () => {
  const received = {
    'x-accel-redirect': '/internal/',
    'x-accel-buffering': 'no',
    'x-sendfile': '/etc/passwd',
    'x-lighttpd-send-file': '/etc/passwd',
    'x-reproxy-url': 'http://169.254.169.254/',
    'content-type': 'text/plain',
  }
  expect(responseHeaders(received, false)).toEqual(['x-accel-buffering', 'no', 'content-type', 'text/plain'])
})

test.each([
  { challenge: 'Basic realm="Shoal"', isForwarded: false },
  { challenge: 'Digest realm="Shoal", nonce="x"', isForwarded: false },
  { challenge: 'Bearer, Basic realm="Shoal"', isForwarded: false },
  { challenge: ['Bearer', 'Negotiate'], isForwarded: false },
  { challenge: 'Bearer', isForwarded: true },
  { challenge: 'Bearer realm="squid"', isForwarded: true },
])('a squid cannot make browsers ask for a password: $challenge is forwarded: $isForwarded', (given) => {
  const sent = responseHeaders({ 'www-authenticate': given.challenge }, false)
  expect(sent).toEqual(given.isForwarded ? ['www-authenticate', given.challenge] : [])
})
