/**
 * Latencies are counted in buckets that grow by 15 %, so that histograms of minutes, gateways and versions can be added up, and
 * a percentile of the sum is at most 7.5 % off.
 */
export const bucketCount = 100
const firstMs = 0.1
const growth = 1.15
const perGrowth = 1 / Math.log(growth)

/** The bucket of a latency; the last one has everything above 100 s. */
export function bucketOf(ms: number): number {
  if (ms <= firstMs) return 0
  return Math.min(bucketCount - 1, 1 + Math.floor(Math.log(ms / firstMs) * perGrowth))
}

/** The latency in ms below which `share` (0 to 1) of the requests are; null without requests. */
export function percentile(histogram: readonly number[], share: number): number | null {
  const total = histogram.reduce((sum, n) => sum + n, 0)
  if (total === 0) return null
  let left = total * share
  for (const [bucket, n] of histogram.entries()) {
    left -= n
    if (left <= 0) return middleOf(bucket)
  }
  return middleOf(bucketCount - 1)
}

/** The geometric mean of a bucket. */
const middleOf = (bucket: number): number => (bucket === 0 ? firstMs / 2 : firstMs * growth ** (bucket - 0.5))
