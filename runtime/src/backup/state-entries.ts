import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { ImageManifest } from '../image.ts'
import { fileEntry, ifThere, treeEntries } from './read-entries.ts'
import { canBeNamed } from './safe-path.ts'
import type { TarEntry } from './tar-stream.ts'

/** Summary of `stateEntries`, complete after all were read. */
export type StateSummary = {
  images: number
  /** Installed tools referenced by images. */
  tools: number
  /** Names that cannot be stored in a tar. */
  leftOut: string[]
}

/** Number of hard-linked files remembered to store shared content once. */
const MOST_SHARED = 300_000

/**
 * The state that squids need: images, the tools that these images reference, and the uids. Excludes what can be recreated: containers
 * (with their environment in clear text), caches, temporary files, sockets, unused tools.
 */
export async function* stateEntries(stateDir: string, summary: StateSummary): AsyncGenerator<TarEntry> {
  const uids = await fileEntry(join(stateDir, 'uids.json'), 'uids.json')
  if (uids) yield uids
  const tools = new Set<string>()
  const shared = new Map<number, string>()
  for (const image of (await ifThere(readdir(join(stateDir, 'images')))) ?? []) {
    const dir = join(stateDir, 'images', image)
    const manifest = await ifThere(readFile(join(dir, 'image.json'), 'utf8'))
    if (manifest === null) continue
    toolsOf(stateDir, manifest).forEach((tool) => tools.add(tool))
    yield* treeOf(dir, `images/${image}`, shared, summary)
    // Images are removed by renaming. Without its manifest, a partially read image is not an image.
    const last = existsSync(dir) ? await fileEntry(join(dir, 'image.json'), `images/${image}/image.json`) : null
    if (!last) continue
    yield last
    summary.images += 1
  }
  for (const tool of tools) yield* treeOf(join(stateDir, 'toolchain', tool), `toolchain/${tool}`, shared, summary)
  summary.tools = tools.size
}

/** Folders of `<stateDir>/toolchain` that the image uses. */
function toolsOf(stateDir: string, manifest: string): string[] {
  const { nodeBinDir, toolchainBinDir, managerBinDir }: ImageManifest = JSON.parse(manifest)
  const toolchain = join(stateDir, 'toolchain') + sep
  return [nodeBinDir, toolchainBinDir, managerBinDir ?? ''].flatMap((dir) =>
    dir.startsWith(toolchain) ? [dir.slice(toolchain.length).split(sep)[0] ?? ''] : [],
  )
}

async function* treeOf(
  dir: string,
  path: string,
  shared: Map<number, string>,
  summary: StateSummary,
): AsyncGenerator<TarEntry> {
  for await (const { stats, ...entry } of treeEntries(dir, path)) {
    if (entry.path === `${path}/image.json`) continue
    if (!canBeNamed(entry.path) || (entry.type === 'SymbolicLink' && !canBeNamed(entry.linkpath))) {
      summary.leftOut.push(entry.path)
      continue
    }
    const first = stats.nlink > 1 && entry.type === 'File' ? shared.get(stats.ino) : undefined
    const { path: place, mode, mtime } = entry
    if (first !== undefined) yield { path: place, mode, mtime, type: 'Link', linkpath: first }
    else {
      if (stats.nlink > 1 && entry.type === 'File' && shared.size < MOST_SHARED) shared.set(stats.ino, entry.path)
      yield entry
    }
  }
}
