import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { ImageManifest } from '../image.ts'
import { fileEntry, ifExists, treeEntries } from './read-entries.ts'
import { canBeStored } from './safe-path.ts'
import type { TarEntry } from './tar-stream.ts'

/** What `stateEntries` has yielded. Complete only when all entries have been read. */
export type StateSummary = {
  images: number
  /** Installed tools referenced by images. */
  tools: number
  /** Paths of entries that a tar cannot store. */
  skipped: string[]
}

/** Maximum number of hard-linked files whose content is stored only once; limits the memory for their paths. */
const MAX_LINKED_FILES = 300_000

/**
 * Yields the state that squids need: images, the tools that these images reference, the records of images in a registry, and the
 * uids. Excludes state that can be recreated: containers (with their environments in plaintext), caches, temporary files, sockets,
 * unused tools.
 */
export async function* stateEntries(stateDir: string, summary: StateSummary): AsyncGenerator<TarEntry> {
  const uids = await fileEntry(join(stateDir, 'uids.json'), 'uids.json')
  if (uids) yield uids
  yield* pushedImageRecords(stateDir)
  const tools = new Set<string>()
  const linkedFiles = new Map<number, string>()
  for (const image of (await ifExists(readdir(join(stateDir, 'images')))) ?? []) {
    const dir = join(stateDir, 'images', image)
    const manifest = await ifExists(readFile(join(dir, 'image.json'), 'utf8'))
    if (manifest === null) continue
    toolsOf(stateDir, manifest).forEach((tool) => tools.add(tool))
    yield* treeOf(dir, `images/${image}`, linkedFiles, summary)
    // An image that was removed while it was read gets no manifest, so it is not restored.
    const manifestEntry = existsSync(dir)
      ? await fileEntry(join(dir, 'image.json'), `images/${image}/image.json`)
      : null
    if (!manifestEntry) continue
    yield manifestEntry
    summary.images += 1
  }
  for (const tool of tools) yield* treeOf(join(stateDir, 'toolchain', tool), `toolchain/${tool}`, linkedFiles, summary)
  summary.tools = tools.size
}

/** Yields the records of images in the registry. Without them, a restored installation could not use or delete these images. */
async function* pushedImageRecords(stateDir: string): AsyncGenerator<TarEntry> {
  const folder = 'oci/images'
  for (const name of (await ifExists(readdir(join(stateDir, folder)))) ?? []) {
    // Records are replaced by renaming, and may be removed while they are read.
    const entry = name.endsWith('.json') ? await fileEntry(join(stateDir, folder, name), `${folder}/${name}`) : null
    if (entry) yield entry
  }
}

/** Returns the folders of `<stateDir>/toolchain` that the image uses. */
function toolsOf(stateDir: string, manifest: string): string[] {
  const { nodeBinDir, toolchainBinDir, managerBinDir }: ImageManifest = JSON.parse(manifest)
  const toolchain = join(stateDir, 'toolchain') + sep
  return [nodeBinDir, toolchainBinDir, managerBinDir ?? ''].flatMap((dir) =>
    dir.startsWith(toolchain) ? [dir.slice(toolchain.length).split(sep)[0] ?? ''] : [],
  )
}

/** Yields the entries of a tree without its `image.json`. A file that was already yielded under another path becomes a hard link. */
async function* treeOf(
  dir: string,
  path: string,
  linkedFiles: Map<number, string>,
  summary: StateSummary,
): AsyncGenerator<TarEntry> {
  for await (const { stats, ...entry } of treeEntries(dir, path)) {
    if (entry.path === `${path}/image.json`) continue
    if (!canBeStored(entry.path) || (entry.type === 'SymbolicLink' && !canBeStored(entry.linkpath))) {
      summary.skipped.push(entry.path)
      continue
    }
    const firstPath = stats.nlink > 1 && entry.type === 'File' ? linkedFiles.get(stats.ino) : undefined
    const { path: linkPath, mode, mtime } = entry
    if (firstPath !== undefined) yield { path: linkPath, mode, mtime, type: 'Link', linkpath: firstPath }
    else {
      if (stats.nlink > 1 && entry.type === 'File' && linkedFiles.size < MAX_LINKED_FILES)
        linkedFiles.set(stats.ino, entry.path)
      yield entry
    }
  }
}
