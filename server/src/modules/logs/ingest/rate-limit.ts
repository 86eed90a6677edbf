/** After a pause, a version or organization may write a burst of as many lines and bytes as its rate allows in this time. */
const burstSeconds = 10

/** Limits bytes and lines per second. `take` counts admitted lines. */
export type WriteRateLimit = { bytes: Bucket; lines: Bucket; take: (bytes: number, lines: number) => void }

/** Creates the limit of one version or organization. Infinity: unlimited. */
export function createRateLimit(bytesPerSecond: number, linesPerSecond: number, nowMs: number): WriteRateLimit {
  const [bytes, lines] = [createBucket(bytesPerSecond, nowMs), createBucket(linesPerSecond, nowMs)]
  return {
    bytes,
    lines,
    take: (byteCount, lineCount) => {
      bytes.take(byteCount)
      lines.take(lineCount)
    },
  }
}

type Bucket = { isEmpty: (nowMs: number) => boolean; take: (amount: number) => void }

/** A token bucket. `take` may overdraw it, so that lines larger than its capacity can be stored, too. */
function createBucket(perSecond: number, createdMs: number): Bucket {
  if (perSecond === Infinity) return { isEmpty: () => false, take: () => undefined }
  const capacity = perSecond * burstSeconds
  let available = capacity
  let refilledMs = createdMs
  return {
    isEmpty: (nowMs) => {
      available = Math.min(capacity, available + (Math.max(0, nowMs - refilledMs) / 1_000) * perSecond)
      refilledMs = nowMs
      return available <= 0
    },
    take: (amount) => (available -= amount),
  }
}
