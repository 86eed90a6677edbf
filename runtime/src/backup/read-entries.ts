import type { Stats } from 'node:fs'
import { lstat, open, readdir, readlink } from 'node:fs/promises'
import { errorCode } from '../error-code.ts'
import type { TarEntry } from './tar-stream.ts'

const CHUNK_BYTES = 1 << 18

/** A file, opened when its entry is written; null when it is missing. */
export async function fileEntry(absolute: string, path: string): Promise<TarEntry | null> {
  const stats = await ifThere(lstat(absolute))
  if (!stats?.isFile()) return null
  return fileOf(absolute, path, stats)
}

export const fileOf = (absolute: string, path: string, { mode, mtime, size }: Stats): TarEntry => ({
  type: 'File',
  path,
  mode: mode & 0o777,
  mtime,
  size,
  body: chunksOf(absolute, size),
})

export const bufferEntry = (path: string, content: Buffer, mode: number, mtime: Date): TarEntry => ({
  type: 'File',
  path,
  mode,
  mtime,
  size: content.length,
  body: once(content),
})

/**
 * All entries below `absolute`, folders before their content. Skips files that are deleted in the meantime, pipes, sockets and
 * devices. `leavesOut` receives the path below `absolute` and can exclude files and whole folders.
 */
export async function* treeEntries(
  absolute: string,
  path: string,
  leavesOut: (below: string, stats: Stats) => boolean = () => false,
  below = '',
): AsyncGenerator<TarEntry & { stats: Stats }> {
  const names = await ifThere(readdir(join(absolute, below)))
  for (const name of (names ?? []).sort()) {
    const inside = join(below, name)
    const source = join(absolute, inside)
    const target = join(path, inside)
    const stats = await ifThere(lstat(source))
    if (!stats || leavesOut(inside, stats)) continue
    const about = { path: target, mode: stats.mode & 0o777, mtime: stats.mtime, stats }
    if (stats.isDirectory()) {
      yield { ...about, type: 'Directory' }
      yield* treeEntries(absolute, path, leavesOut, inside)
    } else if (stats.isFile()) yield { ...fileOf(source, target, stats), stats }
    else if (stats.isSymbolicLink()) {
      const linkpath = await ifThere(readlink(source))
      if (linkpath !== null) yield { ...about, type: 'SymbolicLink', linkpath }
    }
  }
}

/** Null when it does not exist. */
export async function ifThere<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
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
  const file = size === 0 ? null : await ifThere(open(absolute, 'r'))
  if (file === null) return
  try {
    for (let left = size; left > 0;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(left, CHUNK_BYTES)))
      if (bytesRead === 0) return
      left -= bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}
