import { createHash } from 'node:crypto'
import { createReadStream, type Stats } from 'node:fs'
import { chmod, lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { FileLister, type FileList } from './file-list.ts'
import { SourceHosts } from './source-hosts.ts'

type TreeEntry = { path: string; absolute: string; stats: Stats }

/** Yields all entries below `root` ordered by name, folders before their content. Does not follow links. */
export async function* walk(root: string, relativeDir = ''): AsyncGenerator<TreeEntry> {
  const names = await readdir(join(root, relativeDir))
  for (const name of names.sort()) {
    const path = relativeDir === '' ? name : `${relativeDir}/${name}`
    const absolute = join(root, path)
    const stats = await lstat(absolute)
    yield { path, absolute, stats }
    if (stats.isDirectory()) {
      yield* walk(root, path)
    }
  }
}

/** `fileList` and `sourceHosts` are limited in size; the other fields describe the whole tree. */
export type TreeSummary = { digest: string; files: number; bytes: number; fileList: FileList; sourceHosts: string[] }

/**
 * Computes a sha256 over paths, contents, link targets and the owner's executable bit, and lists the files and the hosts of data
 * sources. Sets every mode to 755 or 644, so that the server's umask does not affect the permissions.
 */
export async function summarizeTree(root: string): Promise<TreeSummary> {
  const hash = createHash('sha256')
  const lister = new FileLister()
  const sourceHosts = new SourceHosts()
  let files = 0
  let bytes = 0
  await chmod(root, 0o755)
  for await (const { path, absolute, stats } of walk(root)) {
    files += 1
    const isRunnable = (stats.mode & 0o100) !== 0
    const kind = stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : isRunnable ? 'program' : 'file'
    hash.update(`${kind}\0${path}\0${stats.isFile() ? stats.size : 0}\0`)
    if (stats.isSymbolicLink()) {
      hash.update(`${await readlink(absolute)}\0`)
      continue
    }
    await chmod(absolute, isRunnable ? 0o755 : 0o644)
    if (stats.isFile()) {
      bytes += stats.size
      const readers = [lister.open(path, stats.size), sourceHosts.open(path, stats.size)]
      for await (const chunk of createReadStream(absolute) as AsyncIterable<Buffer>) {
        hash.update(chunk)
        for (const reader of readers) reader?.add(chunk)
      }
      for (const reader of readers) reader?.close()
    }
  }
  return { digest: hash.digest('hex'), files, bytes, fileList: lister.list, sourceHosts: sourceHosts.hosts }
}
