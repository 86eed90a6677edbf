import type { Stats } from 'node:fs'
import { lstat, open, readdir, readlink } from 'node:fs/promises'
import { errorCode } from '../error-code.ts'
import type { TarEntry } from './tar-stream.ts'

const CHUNK_BYTES = 1 << 18

/**
 * Returns a tar entry named `path` for the file at `absolute`; null if it is not a regular file. The file is opened only when the entry is
 * written.
 */
export async function fileEntry(absolute: string, path: string): Promise<TarEntry | null> {
  const stats = await ifExists(lstat(absolute))
  if (!stats?.isFile()) return null
  return fileOf(absolute, path, stats)
}

const fileOf = (absolute: string, path: string, { mode, mtime, size }: Stats): TarEntry => ({
  type: 'File',
  path,
  mode: mode & 0o777,
  mtime,
  size,
  body: chunksOf(absolute, size),
})

/** Returns a tar entry for a file with this content. `mode`: the permission bits. */
export const bufferEntry = (path: string, content: Buffer, mode: number, mtime: Date): TarEntry => ({
  type: 'File',
  path,
  mode,
  mtime,
  size: content.length,
  body: once(content),
})

/**
 * Yields all entries below `absolute`, folders before their content. Skips pipes, sockets, devices, and files that are
 * deleted while it reads. `isExcluded` receives paths relative to `absolute`, and can exclude files and whole folders.
 * `path`: where `absolute` is in the tar. `relativePath`: the folder to start in; recursive calls set it.
 */
export async function* treeEntries(
  absolute: string,
  path: string,
  isExcluded: (relativePath: string, stats: Stats) => boolean = () => false,
  relativePath = '',
): AsyncGenerator<TarEntry & { stats: Stats }> {
  const names = await ifExists(readdir(join(absolute, relativePath)))
  for (const name of (names ?? []).sort()) {
    const childPath = join(relativePath, name)
    const source = join(absolute, childPath)
    const entryPath = join(path, childPath)
    const stats = await ifExists(lstat(source))
    if (!stats || isExcluded(childPath, stats)) continue
    const metadata = { path: entryPath, mode: stats.mode & 0o777, mtime: stats.mtime, stats }
    if (stats.isDirectory()) {
      yield { ...metadata, type: 'Directory' }
      yield* treeEntries(absolute, path, isExcluded, childPath)
    } else if (stats.isFile()) yield { ...fileOf(source, entryPath, stats), stats }
    else if (stats.isSymbolicLink()) {
      const linkpath = await ifExists(readlink(source))
      if (linkpath !== null) yield { ...metadata, type: 'SymbolicLink', linkpath }
    }
  }
}

/** Resolves to null instead of rejecting when the file or folder does not exist. */
export async function ifExists<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return null
    throw error
  }
}

const join = (folder: string, name: string) => (folder === '' ? name : name === '' ? folder : `${folder}/${name}`)

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}

async function* chunksOf(absolute: string, size: number): AsyncGenerator<Buffer> {
  const file = size === 0 ? null : await ifExists(open(absolute, 'r'))
  if (file === null) return
  try {
    for (let remaining = size; remaining > 0;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(remaining, CHUNK_BYTES)))
      if (bytesRead === 0) return
      remaining -= bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}
