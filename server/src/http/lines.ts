import type { Clock } from '../clock.ts'

/** An idle stream sends a blank line at this interval, which shows proxies and clients that it is alive. */
export const blankLineMs = 5_000

/** How often a stream checks whether its caller may still read it. */
const recheckMs = 30_000

/** `isAdmitted`: whether the caller may still read the stream. */
type LinesCaller = { clock: Clock; isAdmitted: () => Promise<boolean> }

/**
 * Returns newline-delimited JSON: one line with an array for each batch, and blank lines while idle. `parse` converts an item to the
 * form that is sent. Ends when `ending` aborts; clients then reconnect. Also ends, at most about half a minute late, when the caller is no
 * longer admitted.
 */
export async function* streamLines(
  batches: AsyncIterable<unknown[]>,
  parse: (item: unknown) => unknown,
  { clock, isAdmitted }: LinesCaller,
  ending?: AbortSignal,
): AsyncGenerator<string> {
  const iterator = batches[Symbol.asyncIterator]()
  let next = iterator.next()
  let admittedAtMs = clock.now().getTime()
  // The first bytes show the client that it is connected.
  yield '\n'
  try {
    while (true) {
      const beat = heartbeat(ending)
      const result = await Promise.race([next, beat.due])
      beat.cancel()
      if (ending?.aborted) return
      if (clock.now().getTime() - admittedAtMs >= recheckMs) {
        if (!(await isAdmitted())) return
        admittedAtMs = clock.now().getTime()
      }
      if (result === 'beat') {
        yield '\n'
        continue
      }
      if (result.done) return
      if (result.value.length > 0) yield `${JSON.stringify(result.value.map(parse))}\n`
      next = iterator.next()
    }
  } finally {
    // Not awaited: a generator ends only after its pending `next`, which may wait until the connection is closed.
    next.catch(() => undefined)
    iterator.return?.().catch(() => undefined)
  }
}

/** Starts a timer for the next heartbeat, which is due immediately if `ending` aborts. */
function heartbeat(ending?: AbortSignal) {
  let cancel = () => {}
  const due = new Promise<'beat'>((done) => {
    const beat = () => done('beat')
    const timer = setTimeout(beat, blankLineMs)
    ending?.addEventListener('abort', beat)
    cancel = () => {
      clearTimeout(timer)
      ending?.removeEventListener('abort', beat)
    }
  })
  return { due, cancel }
}
