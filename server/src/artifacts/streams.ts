import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'

export type HashedContent = {
  /** The same content. */
  content: AsyncGenerator<Buffer>
  /** Returns the hash and size of the content. Must be called only once, after all of `content` was read. */
  result: () => { sha256: string; bytes: number }
}

/** Hashes and counts content while it is read. */
export function hashWhileRead(source: AsyncIterable<Buffer>): HashedContent {
  const hash = createHash('sha256')
  let bytes = 0
  async function* read(): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      bytes += chunk.length
      hash.update(chunk)
      yield chunk
    }
  }
  return { content: read(), result: () => ({ sha256: hash.digest('hex'), bytes }) }
}

/** Joins small chunks, because each buffered chunk uses memory in addition to its bytes, and the sender determines their sizes. */
export async function* joinSmallChunks(content: AsyncIterable<Buffer>, minBytes: number): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of content) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes < minBytes) continue
    yield chunks.length === 1 ? chunk : Buffer.concat(chunks)
    chunks = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(chunks)
}

/** Returns a stream that opens its source when it is read, and converts each of its errors with `mapError`. */
export function lazyStream(
  open: () => Promise<AsyncIterable<Buffer>> | AsyncIterable<Buffer>,
  mapError: (error: unknown) => unknown,
): Readable {
  async function* read() {
    try {
      yield* await open()
    } catch (error) {
      throw mapError(error)
    }
  }
  return Readable.from(read(), { objectMode: false })
}
