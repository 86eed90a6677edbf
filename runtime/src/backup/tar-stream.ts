import { Header, Pax } from 'tar'

export type TarEntry = { path: string; mode: number; mtime: Date } & (
  | { type: 'File'; size: number; body: AsyncIterable<Buffer> }
  | { type: 'Directory' }
  | { type: 'Link' | 'SymbolicLink'; linkpath: string }
)

const BLOCK = 512

/**
 * Writes the entries as a tar. A file that changes in the meantime keeps the size of its entry: growth is ignored, missing bytes
 * become zeros. (The packer of the `tar` package fails on both.)
 */
export async function* tarOf(entries: AsyncIterable<TarEntry>): AsyncGenerator<Buffer> {
  for await (const entry of entries) {
    const isLink = entry.type === 'Link' || entry.type === 'SymbolicLink'
    yield headerOf(entry, entry.type === 'File' ? entry.size : 0, isLink ? entry.linkpath : '')
    if (entry.type === 'File') yield* sized(entry.body, entry.size)
  }
  yield Buffer.alloc(2 * BLOCK)
}

/** The header block, preceded by an extended header if needed. */
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

/** Padding to the end of a block. */
export const padding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)

async function* sized(body: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let left = size
  for await (const chunk of body) {
    if (left === 0) break
    const part = chunk.subarray(0, left)
    left -= part.length
    yield part
  }
  const zeros = Buffer.alloc(Math.min(left, 1 << 18))
  for (; left > 0; left -= Math.min(left, zeros.length)) yield zeros.subarray(0, left)
  yield padding(size)
}
