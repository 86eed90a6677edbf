/** A blank line at least this often, so that proxies and clients know the stream lives (contract 2.6). */
export const heartbeatMs = 5_000

/** Newline-delimited JSON: each batch one line holding an array, with blank lines in quiet times. */
export async function* linesOf(
  batches: AsyncIterable<unknown[]>,
  parse: (item: unknown) => unknown,
): AsyncGenerator<string> {
  const iterator = batches[Symbol.asyncIterator]()
  let next = iterator.next()
  // The first bytes tell the client at once that it is connected.
  yield '\n'
  try {
    while (true) {
      const beat = heartbeat()
      const result = await Promise.race([next, beat.due])
      beat.cancel()
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

function heartbeat() {
  let cancel = () => {}
  const due = new Promise<'beat'>((done) => {
    const timer = setTimeout(() => done('beat'), heartbeatMs)
    cancel = () => clearTimeout(timer)
  })
  return { due, cancel }
}
