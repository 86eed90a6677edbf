import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type TarEntry, tarOf } from '../../backup/tar-stream.ts'
import { type Descriptor, MEDIA_TYPES } from '../registry/blob.ts'

/** `diffId`: digest of the uncompressed layer, which an image's config lists. */
export type PackedLayer = { descriptor: Descriptor; diffId: string }

/** A layer's entry, without fields that differ between two builds of the same content. */
export type LayerEntry = TarEntry extends infer Entry ? (Entry extends unknown ? Omit<Entry, 'mtime'> : never) : never

/** The time of all files: one second after the epoch, since some programs interpret zero as "unknown". */
const MODIFIED = new Date(1000)

/** Higher levels take two to three times as long, and make the layer only a tenth smaller. */
const GZIP_LEVEL = 1

/**
 * Writes the entries as a compressed layer to `file`, with bounded memory. The same entries result in the same bytes: every file is
 * owned by root and has the same time.
 */
export async function packLayer(
  entries: AsyncIterable<LayerEntry>,
  file: string,
  signal: AbortSignal,
): Promise<PackedLayer> {
  const uncompressed = createHash('sha256')
  const compressed = createHash('sha256')
  let size = 0
  async function* measured(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      compressed.update(chunk)
      size += chunk.length
      yield chunk
    }
  }
  async function* tar(): AsyncGenerator<Buffer> {
    for await (const chunk of tarOf(withFixedTime(entries))) {
      uncompressed.update(chunk)
      yield chunk
    }
  }
  try {
    await pipeline(tar, createGzip({ level: GZIP_LEVEL }), measured, createWriteStream(file, { mode: 0o600 }), {
      signal,
    })
  } catch (error) {
    await rm(file, { force: true })
    signal.throwIfAborted()
    throw error
  }
  return {
    descriptor: { mediaType: MEDIA_TYPES.layer, digest: `sha256:${compressed.digest('hex')}`, size },
    diffId: `sha256:${uncompressed.digest('hex')}`,
  }
}

async function* withFixedTime(entries: AsyncIterable<LayerEntry>): AsyncGenerator<TarEntry> {
  for await (const entry of entries) yield { ...entry, mtime: MODIFIED }
}
