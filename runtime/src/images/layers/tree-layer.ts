import { lstat } from 'node:fs/promises'
import { posix } from 'node:path'
import { treeEntries } from '../../backup/read-entries.ts'
import type { LayerEntry } from './pack-layer.ts'

export type TreeSource = {
  /** The folder to pack. */
  from: string
  /** Its path in the image, without a leading slash. */
  to: string
  isExcluded?: (relativePath: string) => boolean
  /** Links may point only into this folder of the image. Default: `to`. */
  linksWithin?: string
  /** Called with a sentence for each omitted entry. */
  onOmitted?: (sentence: string) => void
}

/** Container runtimes interpret files with this prefix as instructions to delete files of lower layers. */
const WHITEOUT = /(^|\/)\.wh\./

/**
 * Yields the content of a folder, which an untrusted build may have written, as entries of a layer, with the modes 755 or 644. Omits
 * pipes, sockets, devices, links that leave the tree, and files that would delete files of other layers.
 */
export async function* treeLayer(source: TreeSource): AsyncGenerator<LayerEntry> {
  const { from, to, isExcluded = () => false, linksWithin = to, onOmitted = () => undefined } = source
  for (const path of prefixesOf(to)) yield folderEntry(path)
  for await (const entry of treeEntries(from, to, (path) => isExcluded(path))) {
    const { path, mode, stats: _stats, mtime: _mtime, ...content } = entry
    if (WHITEOUT.test(path)) {
      onOmitted(`${path} is not in the image, because images cannot contain names that start with ".wh."`)
      continue
    }
    if (content.type === 'SymbolicLink' && !isWithin(linksWithin, path, content.linkpath)) {
      onOmitted(`${path} is not in the image, because it is a link that points outside the squid's folder`)
      continue
    }
    const isRunnable = content.type === 'Directory' || (mode & 0o100) !== 0
    yield { ...content, path, mode: content.type === 'SymbolicLink' ? 0o777 : isRunnable ? 0o755 : 0o644 }
  }
}

export const folderEntry = (path: string, mode = 0o755): LayerEntry => ({ type: 'Directory', path, mode })

export const textEntry = (path: string, text: string, mode = 0o644): LayerEntry => {
  const content = Buffer.from(text)
  return { type: 'File', path, mode, size: content.length, body: once(content) }
}

/** True if the path is a folder, not a link to one. */
export async function isFolder(path: string): Promise<boolean> {
  return await lstat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

/** Returns the folders from the top to a path, itself included: `a`, `a/b` and `a/b/c` for `a/b/c`. */
export const prefixesOf = (path: string): string[] =>
  path.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'))

function isWithin(folder: string, path: string, target: string): boolean {
  if (posix.isAbsolute(target)) return false
  const resolved = posix.normalize(posix.join(posix.dirname(path), target))
  return resolved === folder || resolved.startsWith(`${folder}/`)
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}
