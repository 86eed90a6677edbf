/** A blank line at least this often, so that proxies and clients know the stream lives (contract 2.6). */
export const heartbeatMs = 5_000

/** Newline-delimited JSON: each batch one line holding an array, with blank lines in quiet times. It is complete when `ending` aborts: clients ask again. */
export async function* linesOf(
  batches: AsyncIterable<unknown[]>,
  parse: (item: unknown) => unknown,
  ending?: AbortSignal,
): AsyncGenerator<string> {
  const iterator = batches[Symbol.asyncIterator]()
  let next = iterator.next()
  // The first bytes tell the client at once that it is connected.
  yield '\n'
  try {
    while (true) {
      const beat = heartbeat(ending)
      const result = await Promise.race([next, beat.due])
      beat.cancel()
      if (ending?.aborted) return
      if (result === 'beat') {
        yield '\n'
        continue
      }
      if (result.done) return
      if (result.value.length > 0) yield `${JSON.stringify(result.value.map(parse))}\n`
      next = iterator.next()
    }
  } finally {
    await iterator.return?.()
  }
}

/** `ending` makes it due at once. */
function heartbeat(ending?: AbortSignal) {
  let cancel = () => {}
  const due = new Promise<'beat'>((done) => {
    const beat = () => done('beat')
    const timer = setTimeout(beat, heartbeatMs)
    ending?.addEventListener('abort', beat)
    cancel = () => {
      clearTimeout(timer)
      ending?.removeEventListener('abort', beat)
    }
  })
  return { due, cancel }
}
