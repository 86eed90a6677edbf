import type { Readable } from 'node:stream'
import { Readable as NodeReadable } from 'node:stream'
import { create } from 'tar'

/** Packs the content of a sealed folder as a tar. If the folder cannot be read, the stream emits the error. */
export function packTree(dir: string, form: 'compressed' | 'plain'): Readable {
  const gzip = form === 'compressed' ? { level: 1 } : false
  // With more than one job, tar waits forever if many files are hard links to each other.
  return NodeReadable.from(create({ cwd: dir, gzip, jobs: 1, portable: true }, ['.']) as AsyncIterable<Buffer>)
}
