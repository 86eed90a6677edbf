import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { Header } from 'tar'

/** One archive entry, valid or malicious. */
export type Packed = {
  path: string
  type?: EntryType
  content?: string | Buffer
  linkpath?: string
  mode?: number
  uid?: number
}

type EntryType = 'File' | 'Directory' | 'SymbolicLink' | 'Link' | 'CharacterDevice' | 'BlockDevice' | 'FIFO'

const BLOCK = 512

/** A tar file of exactly these entries, without validation. */
export function tarOf(entries: Packed[]): Buffer {
  const blocks = entries.flatMap(({ path, type = 'File', content = '', linkpath, mode = 0o644, uid = 0 }) => {
    const body = Buffer.from(content)
    const header = new Header({ path, type, linkpath, mode, uid, gid: uid, size: body.length, mtime: new Date(0) })
    header.encode()
    const padding = Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)
    return [header.block ?? Buffer.alloc(0), body, padding]
  })
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

/** An archive as `sqd` uploads it: gzipped, with the root entry `.`. */
export function archiveOf(entries: Packed[]): () => Readable {
  return streamOf(gzipSync(tarOf([{ path: './', type: 'Directory', mode: 0o755 }, ...entries])))
}

export function streamOf(bytes: Buffer): () => Readable {
  return () => Readable.from([bytes])
}
