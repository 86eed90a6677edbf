import { expect, test } from 'vitest'
import { publicAddressesIn } from './pasta-rules.ts'

const ROUTES = `Main:
  +-- 0.0.0.0/0 2 0 2
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.0.0.0/29 2 0 1
        |-- 10.0.0.5
           /32 host LOCAL
        |-- 10.0.0.7
           /32 link BROADCAST
     |-- 127.0.0.0
        /8 host LOCAL
     |-- 198.51.100.9
        /32 host LOCAL
     +-- 203.0.113.0/29 2 0 1
        |-- 203.0.113.0
           /29 link UNICAST
        |-- 203.0.113.5
           /32 link BROADCAST
           /32 host LOCAL
Local:
  |-- 198.51.100.9
     /32 host LOCAL
  |-- 192.0.2.0
     /24 host LOCAL
     /32 host LOCAL
Id 100:
  |-- 128.0.0.0
     /1 host LOCAL
`

test('addresses and ranges that the main tables route to the host are its own', () => {
  expect(publicAddressesIn(ROUTES)).toEqual([
    '198.51.100.9',
    '203.0.113.5',
    '198.51.100.9',
    '192.0.2.0/24',
    '192.0.2.0',
  ])
})

test('routes to other machines are not addresses of the host', () => {
  expect(publicAddressesIn('Main:\n  |-- 203.0.113.0\n     /24 universe UNICAST\n')).toEqual([])
})
