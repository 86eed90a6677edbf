import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import { Header } from 'tar'
import { headerOf, padding, tarOf, type TarEntry } from './tar-stream.ts'

/**
 * A backup is a tar of two files, readable with ordinary tools: `manifest.json` and the compressed `content.tar.zst`. The manifest is
 * first in the file but is written last, so it is padded with spaces to a fixed length.
 */
const MANIFEST = 'manifest.json'
const CONTENT = 'content.tar.zst'
const MANIFEST_BYTES = 4096
const BLOCK = 512
const CONTENT_START = BLOCK + MANIFEST_BYTES + BLOCK

/** Size and checksum of the compressed content; both are verified before a restore. */
export type ContentChecksum = { bytes: number; sha256: string }

/**
 * Writes a backup to a temporary file, which is renamed when it is complete and synced. Only the owner of the file may read it.
 * Calls `makeManifest` with the size and checksum of the content after all entries have been read, and returns both.
 */
export async function writeBackupFile(
  file: string,
  entries: AsyncIterable<TarEntry>,
  makeManifest: (content: ContentChecksum) => unknown,
  signal: AbortSignal,
): Promise<ContentChecksum> {
  const temporary = `${file}.${randomBytes(4).toString('hex')}.part`
  const handle = await open(temporary, 'wx', 0o600)
  try {
    const content = await writeContent(handle, entries, signal)
    await handle.write(manifestAndHeaders(makeManifest(content), content), 0, CONTENT_START, 0)
    await handle.sync()
    await handle.close()
    await rename(temporary, file)
    await syncFolder(dirname(file))
    return content
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(temporary, { force: true })
    throw signal.aborted ? signal.reason : error
  }
}

async function writeContent(
  handle: FileHandle,
  entries: AsyncIterable<TarEntry>,
  signal: AbortSignal,
): Promise<ContentChecksum> {
  const hash = createHash('sha256')
  let position = CONTENT_START
  const write = async (chunk: Buffer) => {
    await writeAll(handle, chunk, position)
    position += chunk.length
  }
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  const hashAndWrite = async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      hash.update(chunk)
      await write(chunk)
    }
  }
  await pipeline(tarOf(entries), compress, hashAndWrite, { signal })
  const bytes = position - CONTENT_START
  await write(Buffer.concat([padding(bytes), Buffer.alloc(2 * BLOCK)]))
  return { bytes, sha256: hash.digest('hex') }
}

async function writeAll(handle: FileHandle, chunk: Buffer, position: number): Promise<void> {
  for (let written = 0; written < chunk.length;)
    written += (await handle.write(chunk, written, chunk.length - written, position + written)).bytesWritten
}

function manifestAndHeaders(manifest: unknown, content: ContentChecksum): Buffer {
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  if (text.length > MANIFEST_BYTES) throw new Error('The manifest of the backup is too large.')
  const metadata = { type: 'File', mode: 0o600, mtime: new Date() } as const
  return Buffer.concat([
    headerOf({ ...metadata, path: MANIFEST }, MANIFEST_BYTES),
    text,
    Buffer.alloc(MANIFEST_BYTES - text.length, ' '),
    headerOf({ ...metadata, path: CONTENT }, content.bytes),
  ])
}

/** Reads the manifest. @throws Error when the file is not a backup */
export async function readBackupManifest(file: string): Promise<unknown> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(CONTENT_START), 0, CONTENT_START, 0)
    const isBackup =
      bytesRead === CONTENT_START &&
      new Header(buffer).path === MANIFEST &&
      new Header(buffer, CONTENT_START - BLOCK).path === CONTENT
    if (!isBackup) throw new Error(`${file} is not a backup of Shoal, or is incomplete.`)
    return JSON.parse(buffer.toString('utf8', BLOCK, BLOCK + MANIFEST_BYTES))
  } finally {
    await handle.close()
  }
}

/** Streams the compressed content. */
export const readBackupContent = (file: string, { bytes }: ContentChecksum): Readable =>
  createReadStream(file, { start: CONTENT_START, end: CONTENT_START + bytes - 1, highWaterMark: 1 << 18 })

/** Verifies the size and checksum of the content. @throws Error when they do not match the manifest */
export async function checkBackupContent(file: string, content: ContentChecksum, signal: AbortSignal): Promise<void> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of readBackupContent(file, content) as AsyncIterable<Buffer>) {
    signal.throwIfAborted()
    hash.update(chunk)
    bytes += chunk.length
  }
  if (bytes !== content.bytes)
    throw new Error(`${file} is truncated: it has ${bytes} of ${content.bytes} bytes of its content.`)
  if (hash.digest('hex') !== content.sha256)
    throw new Error(`${file} is damaged: its checksum does not match. Use another backup.`)
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}
