import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readMetrics } from './prom-text.ts'
import { parseProcessorMetrics } from './scrape.ts'

const page = `# HELP sqd_processor_last_block Last processed block
# TYPE sqd_processor_last_block gauge
sqd_processor_last_block 18123456
sqd_processor_chain_height 1.8123460e+07 1763700000000
sqd_processor_mapping_blocks_per_second NaN
sqd_processor_sync_eta_seconds 0
sqd_rpc_request_count{url="https://rpc.example.com/a} 7",kind="success"} 41
sqd_rpc_request_count{url="https://rpc.example.com/b",kind="failure"} 2
sqd_rpc_request_count_of_something_else 7
process_cpu_user_seconds_total 0.1
`

describe('the metrics of a processor', () => {
  test("are read from a page in the SDK's format", () => {
    expect(parseProcessorMetrics(page)).toEqual({
      currentBlock: 18_123_456,
      totalBlocks: 18_123_460,
      blocksPerSecond: null,
      etaSeconds: 0,
      syncRatio: null,
      rpcRequests: 43,
      rpcFailures: 2,
    })
  })

  test('are complete before the first block and without a chain height', () => {
    expect(parseProcessorMetrics('sqd_processor_last_block -1\n')).toMatchObject({ currentBlock: -1, totalBlocks: 0 })
    expect(parseProcessorMetrics('sqd_processor_last_block 5\r\nsqd_processor_chain_height 3\r\n')).toMatchObject({
      currentBlock: 5,
      totalBlocks: 5,
    })
  })

  test.each(['1e300', '-1e300', '9007199254740993', '1.7976931348623157e308'])(
    'are unknown where they are %s, which is out of range',
    (value) => {
      const success = `sqd_rpc_request_count{kind="success"} ${value}`
      expect(parseProcessorMetrics(`sqd_processor_last_block ${value}\n`)).toBeNull()
      expect(
        parseProcessorMetrics(`sqd_processor_last_block 5.5\nsqd_processor_chain_height ${value}\n`),
      ).toMatchObject({ currentBlock: 5, totalBlocks: 5 })
      const isNegative = value.startsWith('-')
      expect(
        parseProcessorMetrics(`sqd_processor_last_block 5\n${success}\nsqd_rpc_request_count{kind="failure"} 2\n`),
      ).toMatchObject({ rpcRequests: isNegative ? 2 : null, rpcFailures: 2 })
      expect(
        parseProcessorMetrics(`sqd_processor_last_block 5\n${success.replace('success', 'failure')}\n`),
      ).toMatchObject({ rpcRequests: isNegative ? 0 : null, rpcFailures: isNegative ? 0 : null })
    },
  )

  test('are unknown where a sum of requests is too large', () => {
    const counts = [1, 2].map((n) => `sqd_rpc_request_count{url="${n}",kind="success"} ${Number.MAX_SAFE_INTEGER}`)
    const metrics = parseProcessorMetrics(`sqd_processor_last_block 5\n${counts.join('\n')}\n`)
    expect(metrics).toMatchObject({ rpcRequests: null, rpcFailures: 0 })
  })

  test('are null for a page of another program', () => {
    expect(parseProcessorMetrics('<html>not found</html>')).toBeNull()
    expect(parseProcessorMetrics('')).toBeNull()
  })
})

test('samples of any form are read; comments and other metrics are ignored', () => {
  const name = fc.constantFrom('a', 'b:c', 'sqd_processor_last_block', 'other')
  const labels = fc.constantFrom('', '{}', '{chain="x"}', '{a="}",b="\\""}')
  const sample = fc.record({
    name,
    labels,
    // The text format does not distinguish 0 and -0.
    value: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    timestamp: fc.constantFrom('', ' 123'),
  })
  const requestedNames = new Set(['a', 'b:c', 'sqd_processor_last_block'])
  fc.assert(
    fc.property(fc.array(sample), fc.string(), (samples, comment) => {
      const lines = samples.flatMap((s) => [
        `# ${comment.replaceAll(/[\r\n]/g, '')}`,
        `${s.name}${s.labels} ${s.value}${s.timestamp}`,
      ])
      const values = readMetrics(lines.join('\n'), requestedNames)
      const expected = Map.groupBy(
        samples.filter((s) => requestedNames.has(s.name)),
        (s) => s.name,
      )
      expect([...values.keys()].sort()).toEqual([...expected.keys()].sort())
      for (const [key, all] of expected) expect(values.get(key)).toBe(Math.max(...all.map((s) => s.value)))
    }),
  )
})

test('no input makes readMetrics throw', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 500 }), (text) => {
      expect([...readMetrics(text, new Set(['a'])).values()].every(Number.isFinite)).toBe(true)
    }),
  )
})
