import { bytesOf, type PartQuery, type StoredLine } from '../lines-store.ts'

/** Limits of the lines in memory per followed version. A follower that is further behind misses lines. */
const maxLines = 10_000
const maxChars = 8_000_000
/** Maximum lines and bytes of one read. A line may have 64 KiB, so a limit of lines alone would not limit the memory. */
const readLimits = { limit: 2_000, maxBytes: 2_000_000 }

type TailSource = (query: PartQuery) => Promise<{ lines: StoredLine[]; hasMore: boolean }>

/** The newest lines of one version in memory, shared by all followers in this process. */
export type Tail = {
  /** The number of the oldest line in memory: a follower that has not received all lines before it has missed some. */
  readonly firstSeq: number
  /** The number of the newest line. */
  readonly lastSeq: number
  readonly isEnded: boolean
  /** Returns the next lines in memory after `afterSeq`. */
  after: (query: PartQuery) => StoredLine[]
  /** Resolves when new lines have arrived, the tail has ended, or `signal` is aborted. */
  changed: (signal: AbortSignal) => Promise<void>
  /** Reads new lines from the database. Calls during a read start one more read after it. */
  refresh: () => Promise<void>
  /** Ends the tail, because its version was deleted. */
  end: () => void
}

/** Creates a tail of the lines after `lastSeq`. `readAfter`: reads the next lines of its version. */
export function createTail(readAfter: TailSource, lastSeq: number): Tail {
  let lines: StoredLine[] = []
  let chars = 0
  let last = lastSeq
  let isEnded = false
  let reading: Promise<void> | null = null
  let mustReadAgain = false
  let waiters = new Set<() => void>()

  const wake = () => {
    const notified = waiters
    waiters = new Set()
    for (const done of notified) done()
  }

  const append = (newLines: StoredLine[]) => {
    lines.push(...newLines)
    last = newLines.at(-1)?.seq ?? last
    for (const line of newLines) chars += sizeOf(line)
    let dropped = Math.max(0, lines.length - maxLines)
    for (const line of lines.slice(0, dropped)) chars -= sizeOf(line)
    for (let line = lines[dropped]; line && chars > maxChars; line = lines[++dropped]) chars -= sizeOf(line)
    if (dropped > 0) lines = lines.slice(dropped)
  }

  const read = async () => {
    do {
      mustReadAgain = false
      for (let hasMore = true; hasMore;) {
        const part = await readAfter({ afterSeq: last, ...readLimits })
        hasMore = part.hasMore
        if (part.lines.length === 0) continue
        append(part.lines)
        wake()
      }
    } while (mustReadAgain && !isEnded)
  }

  return {
    get firstSeq() {
      return last - lines.length + 1
    },
    get lastSeq() {
      return last
    },
    get isEnded() {
      return isEnded
    },
    after: ({ afterSeq, limit, maxBytes }) => {
      if (afterSeq >= last) return []
      const from = Math.max(0, lines.length - (last - afterSeq))
      let bytes = 0
      let until = from
      for (let line = lines[until]; line && until < from + limit && bytes < maxBytes; line = lines[++until])
        bytes += bytesOf(line)
      return lines.slice(from, until)
    },
    changed: (signal) =>
      new Promise((done) => {
        if (signal.aborted || isEnded) return done()
        const finish = () => {
          signal.removeEventListener('abort', finish)
          waiters.delete(finish)
          done()
        }
        waiters.add(finish)
        signal.addEventListener('abort', finish)
      }),
    refresh: () => {
      mustReadAgain = true
      reading ??= read().finally(() => (reading = null))
      return reading
    },
    end: () => {
      isEnded = true
      wake()
    },
  }
}

const sizeOf = (line: StoredLine) => line.message.length + (line.fields?.length ?? 0)
