import { Header, Pax } from 'tar'

/** An entry of a tar. `mode`: permission bits. `linkpath`: the target of a link; of a hard link, relative to the root of the tar. */
export type TarEntry = { path: string; mode: number; mtime: Date } & (
  | { type: 'File'; size: number; body: AsyncIterable<Buffer> }
  | { type: 'Directory' }
  | { type: 'Link' | 'SymbolicLink'; linkpath: string }
)

const BLOCK = 512

/**
 * Writes the entries as a tar. A file that changes while it is read keeps the size of its entry: additional bytes are ignored,
 * missing bytes become zeros. (The packer of the `tar` package fails in both cases.)
 */
export async function* tarOf(entries: AsyncIterable<TarEntry>): AsyncGenerator<Buffer> {
  for await (const entry of entries) {
    const isLink = entry.type === 'Link' || entry.type === 'SymbolicLink'
    yield headerOf(entry, entry.type === 'File' ? entry.size : 0, isLink ? entry.linkpath : '')
    if (entry.type === 'File') yield* exactly(entry.body, entry.size)
  }
  yield Buffer.alloc(2 * BLOCK)
}

/** Returns the header block, preceded by an extended header if needed. `size`: bytes of the content. */
export function headerOf(
  entry: Pick<TarEntry, 'path' | 'mode' | 'mtime' | 'type'>,
  size: number,
  linkpath = '',
): Buffer {
  const { path, mode, mtime, type } = entry
  const data = { path: type === 'Directory' ? `${path}/` : path, mode, mtime, type, size, linkpath, uid: 0, gid: 0 }
  const header = new Header(data)
  const needsPax = header.encode()
  const block = header.block ?? Buffer.alloc(BLOCK)
  return needsPax ? Buffer.concat([new Pax(data).encode(), block]) : block
}

/** Returns the zeros that follow `size` bytes of content, up to the end of their last block. */
export const padding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)

async function* exactly(body: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let remaining = size
  for await (const chunk of body) {
    if (remaining === 0) break
    const part = chunk.subarray(0, remaining)
    remaining -= part.length
    yield part
  }
  const zeros = Buffer.alloc(Math.min(remaining, 1 << 18))
  for (; remaining > 0; remaining -= Math.min(remaining, zeros.length)) yield zeros.subarray(0, remaining)
  yield padding(size)
}
