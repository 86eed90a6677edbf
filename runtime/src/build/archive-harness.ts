import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { Header } from 'tar'

/** An archive entry, valid or malicious. */
export type TestEntry = {
  path: string
  type?: EntryType
  content?: string | Buffer
  linkpath?: string
  mode?: number
  uid?: number
}

type EntryType =
  'SparseFile' | 'File' | 'Directory' | 'SymbolicLink' | 'Link' | 'CharacterDevice' | 'BlockDevice' | 'FIFO'

const BLOCK = 512

/** Creates a tar file with exactly these entries, without validating them. */
export function tarOf(entries: TestEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, type = 'File', content = '', linkpath, mode = 0o644, uid = 0 }) => {
    const body = Buffer.from(content)
    const header = new Header({ path, type, linkpath, mode, uid, gid: uid, size: body.length, mtime: new Date(0) })
    header.encode()
    const padding = Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)
    return [header.block ?? Buffer.alloc(0), body, padding]
  })
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

/** Returns a function that streams an archive like those that `sqd` uploads: gzipped, with the root entry `.`. */
export function archiveOf(entries: TestEntry[]): () => Readable {
  return streamOf(gzipSync(tarOf([{ path: './', type: 'Directory', mode: 0o755 }, ...entries])))
}

/** Returns a function that returns a new stream of these bytes. */
export function streamOf(bytes: Buffer): () => Readable {
  return () => Readable.from([bytes])
}
