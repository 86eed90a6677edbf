import { expect, test } from 'vitest'
import { sourceName, sourceSentence, lastSourceError } from './source-log.ts'

const line = (fields: object) => JSON.stringify({ level: 3, time: 1000, ns: 'sqd:processor:rpc', ...fields })
const sentence = (lines: string[], hosts: string[] = []) => sourceSentence(lastSourceError(lines, 0), hosts)

test('the sentence names the host of the failing RPC node, without its key', () => {
  const refusedLine = line({
    msg: 'connection failure',
    rpcUrl: 'https://user:pass@eth.example.com:8545/v2/k-e-y?apikey=k-e-y',
    reason:
      'FetchError: request to https://eth.example.com:8545/v2/k-e-y failed, reason: connect ECONNREFUSED 10.0.0.1:8545',
  })
  const pauseLine = line({ msg: 'will pause new requests for 10ms', rpcUrl: 'https://eth.example.com/v2/k-e-y' })
  expect(sentence(['no JSON', refusedLine, pauseLine])).toBe(
    'Its log reports for eth.example.com:8545: it refuses connections.',
  )
})

test.each([
  ['getaddrinfo ENOTFOUND v2.archive.example', 'v2.archive.example', 'its name cannot be resolved'],
  ['connect ETIMEDOUT 10.0.0.1:443', 'v2.archive.example', 'it does not respond in time'],
])('the host of a data gateway is read from the error: %s', (reason, host, problem) => {
  const failedLine = line({
    ns: 'sqd:processor:archive',
    reason: `request to https://${host}/network/eth/height failed, reason: ${reason}`,
  })
  expect(sentence([failedLine])).toBe(`Its log reports for ${host}: ${problem}.`)
})

test('without a URL in the log, the sentence lists the hosts in code and environment, or states that there are none', () => {
  const timedOut = line({ msg: 'archive request failed', reason: 'request timed out after 10000 ms' })
  expect(sentence([timedOut], ['v2.archive.example'])).toBe(
    'Its log reports for its data source: it does not respond in time. Its code and environment name v2.archive.example.',
  )
  expect(sentence([line({ msg: 'processing blocks from 0' })])).toBe(
    'Its log does not say what it waits for. Neither its code nor its environment names an address.',
  )
})

test('earlier errors are ignored', () => {
  expect(lastSourceError([line({ reason: 'connect ECONNREFUSED' })], 2000)).toBeNull()
})

test('a URL of the RPC gateway is shown as its chain, and text that is not the URL of a source is not shown', () => {
  expect(sourceName('http://localhost:4001/rpc/eth/shoal_rpc_abc')).toBe('the RPC gateway (chain eth)')
  expect(sourceName('postgres://user:password@db/x')).toBeNull()
  expect(sourceName('true')).toBeNull()
})
