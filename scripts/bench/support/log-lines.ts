import type { Runtime, LogBatch, LogLine } from '@shoal/runtime'

const batchSize = 1000

/** A word that only ten of the oldest lines contain, so that a search for it has to search through all newer lines. */
export const rareWord = 'reorganised'

const messageKinds = [
  (n: number) => `${n} / 21000000, rate: ${n % 977} blocks/sec, mapping: ${n % 1201} blocks/sec, eta: ${n % 59}m`,
  (n: number) => `fetched transfers of block ${n} in ${n % 83} ms from endpoint ${n % 7}`,
  (n: number) => `saved ${n % 641} rows, cursor 0x${(n * 2654435761).toString(16)}`,
]

function textOf(n: number): string {
  const message =
    n > 1000 && n <= 1010 ? `block ${n} was ${rareWord}` : (messageKinds[n % messageKinds.length]?.(n) ?? '')
  return JSON.stringify({ level: 2, time: Date.now(), ns: 'sqd:processor', msg: message })
}

/** Simulates the logs of a processor that writes `count` lines as fast as they are read. Calls `onStored` when all lines are stored. */
export function logsOf(squidId: string, count: number, onStored: () => void): Runtime['logs'] {
  return async function* (_, signal) {
    for (let first = 1; first <= count && !signal.aborted; first += batchSize) {
      const size = Math.min(batchSize, count - first + 1)
      const lines = Array.from({ length: size }, (_, i): LogLine => {
        const text = textOf(first + i)
        return { workload: `${squidId}.1`, container: 'processor', stream: 'stderr', text, readAt: new Date() }
      })
      yield { lines, dropped: [], cursor: { bench: `${first + size - 1}` } } satisfies LogBatch
    }
    // The worker requests the next batch only after it has stored the previous one.
    onStored()
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  }
}
