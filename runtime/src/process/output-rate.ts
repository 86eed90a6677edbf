import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Rate at which the output of a program is read, so that a flood does not occupy the server. The program waits while its output is
 * not read.
 */
const OUTPUT_BYTES_PER_MS = 4 * 1024
/** The cost of processing a line, in addition to its bytes. */
const LINE_COST_BYTES = 256
/** The amount of output that may be read without waiting. */
const OUTPUT_BURST_BYTES = 8 * 1024 * 1024

/** Passes the chunks of `output` to `consume`, which returns the number of lines that it has processed. */
export async function readAtLimitedRate(output: Readable, consume: (chunk: Buffer) => number): Promise<void> {
  const startedAt = performance.now()
  /** The cost of the output so far, minus one burst. After any pause, at most one burst is read without waiting. */
  let cost = -OUTPUT_BURST_BYTES
  for await (const chunk of output as AsyncIterable<Buffer>) {
    const lines = consume(chunk)
    const elapsedMs = performance.now() - startedAt
    cost = Math.max(cost, elapsedMs * OUTPUT_BYTES_PER_MS - OUTPUT_BURST_BYTES)
    cost += chunk.length + lines * LINE_COST_BYTES
    const waitMs = cost / OUTPUT_BYTES_PER_MS - elapsedMs
    if (waitMs > 0) await sleep(waitMs)
  }
}
