import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bucketCount, bucketOf, percentile } from './histogram.ts'

const histogramOf = (latencies: number[]): number[] => {
  const histogram = Array.from({ length: bucketCount }, () => 0)
  for (const ms of latencies) histogram[bucketOf(ms)] = (histogram[bucketOf(ms)] ?? 0) + 1
  return histogram
}

test('a percentile is within 8 % of the exact value, even for merged histograms', () => {
  const latency = fc.double({ min: 0.2, max: 90_000, noNaN: true })
  const latencies = fc.array(latency, { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(latencies, latencies, fc.double({ min: 0.01, max: 1, noNaN: true }), (one, other, share) => {
      const merged = histogramOf(one).map((n, i) => n + (histogramOf(other)[i] ?? 0))
      const sorted = [...one, ...other].sort((a, b) => a - b)
      const exact = sorted[Math.max(0, Math.ceil(sorted.length * share - 1e-9) - 1)] ?? 0
      const estimate = percentile(merged, share) ?? 0
      expect(Math.abs(estimate - exact) / exact).toBeLessThan(0.08)
    }),
  )
})

test('an empty histogram has no percentile, and the last bucket counts all larger values', () => {
  expect(percentile(histogramOf([]), 0.5)).toBeNull()
  expect(bucketOf(1e9)).toBe(bucketCount - 1)
  expect(bucketOf(0)).toBe(0)
})
