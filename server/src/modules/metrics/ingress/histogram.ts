/**
 * Latencies are counted in buckets, each 15 % wider than the previous one. Histograms of several minutes, gateways or versions can be
 * added. A percentile differs from the exact value by at most 7.5 %.
 */
export const bucketCount = 100
const firstBucketMs = 0.1
const bucketGrowth = 1.15
const bucketsPerLogMs = 1 / Math.log(bucketGrowth)

/** Returns the bucket of a latency; the last bucket contains everything above 89 s. */
export function bucketOf(ms: number): number {
  if (ms <= firstBucketMs) return 0
  return Math.min(bucketCount - 1, 1 + Math.floor(Math.log(ms / firstBucketMs) * bucketsPerLogMs))
}

/** Returns the latency in ms below which `share` (0 to 1) of the requests are; null without requests. */
export function percentile(histogram: readonly number[], share: number): number | null {
  const total = histogram.reduce((sum, n) => sum + n, 0)
  if (total === 0) return null
  let remaining = total * share
  for (const [bucket, n] of histogram.entries()) {
    remaining -= n
    if (remaining <= 0) return middleOf(bucket)
  }
  return middleOf(bucketCount - 1)
}

/** Returns the geometric mean of a bucket in ms. */
const middleOf = (bucket: number): number =>
  bucket === 0 ? firstBucketMs / 2 : firstBucketMs * bucketGrowth ** (bucket - 0.5)
