import { once } from 'node:events'
import { chmod, mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { ReadEntry, Unpack } from 'tar'
import { normalizedPath, quoted } from '../build/archive-rules.ts'
import { whenClosed } from '../build/tar-closing.ts'
import { walk } from '../build/tree.ts'
import { leavesTopFolder, pathRejection } from './safe-path.ts'

/** Folder and file modes by the first component of a path. `isRunnable`: executables and links are allowed. */
const RULES_BY_AREA: Record<string, { folder: number; file: number; isRunnable?: true }> = {
  postgres: { folder: 0o700, file: 0o600 },
  'postgres-squids': { folder: 0o700, file: 0o600 },
  uploads: { folder: 0o700, file: 0o600 },
  images: { folder: 0o755, file: 0o644, isRunnable: true },
  toolchain: { folder: 0o755, file: 0o644, isRunnable: true },
  oci: { folder: 0o700, file: 0o600 },
  'uids.json': { folder: 0o700, file: 0o600 },
  'secrets.key': { folder: 0o700, file: 0o600 },
}

/**
 * Writes the content of a backup into the empty folder `dir`, with links last. Ignores the owners in the backup, and the modes
 * except whether a file of `images` or `toolchain` is executable.
 * @returns the paths of links that were skipped because they leave their top folder, or have another link in their path
 * @throws Error when the backup contains unexpected entries
 */
export async function unpackBackup(content: Readable, dir: string, signal: AbortSignal): Promise<string[]> {
  const links = new Map<string, string>()
  let rejection: string | null = null
  const accepts = (entry: ReadEntry): boolean => {
    rejection ??= rejectionOf(entry)
    if (rejection === null && entry.type === 'SymbolicLink') links.set(normalizedPath(entry.path), entry.linkpath ?? '')
    return rejection === null && entry.type !== 'SymbolicLink'
  }
  const unpack = new Unpack({
    cwd: dir,
    strict: true,
    preserveOwner: false,
    maxDecompressionRatio: 1,
    zstd: false,
    filter: (_path, entry) => entry instanceof ReadEntry && accepts(entry),
  })
  let failure: unknown = null
  unpack.on('error', (error) => (failure ??= error))
  // tar skips entries of unsupported types and large headers without calling the filter. Entries that the filter refused arrive here, too:
  // symbolic links, which are made last.
  unpack.on('ignoredEntry', (entry: ReadEntry) => {
    if (entry.type !== 'SymbolicLink') rejection ??= rejectionOf(entry) ?? `${quoted(entry.path)} cannot be read`
  })
  const closed = whenClosed(unpack)
  const throwIfFailed = () => {
    if (rejection !== null) throw new Error(`The backup is not restored: ${rejection}.`)
    if (failure !== null) throw failure
  }
  await pipeline(
    content,
    createZstdDecompress(),
    async (tar: AsyncIterable<Buffer>) => {
      for await (const chunk of tar) {
        const mayContinue = unpack.write(chunk)
        throwIfFailed()
        if (!mayContinue) await once(unpack, 'drain')
      }
    },
    { signal },
  ).catch((error: unknown) => (failure ??= signal.aborted ? signal.reason : error))
  unpack.end()
  await closed
  throwIfFailed()
  await setModes(dir)
  return await makeLinks(dir, links)
}

function rejectionOf({ path, type, linkpath = '' }: ReadEntry): string | null {
  const badPath = pathRejection(path)
  if (badPath !== null) return badPath
  const [area = ''] = normalizedPath(path).split('/')
  const rules = Object.hasOwn(RULES_BY_AREA, area) ? RULES_BY_AREA[area] : undefined
  if (!rules) return `${quoted(path)} is not part of a backup`
  if (type === 'File' || type === 'Directory') return null
  if (!rules.isRunnable || (type !== 'Link' && type !== 'SymbolicLink')) return `${quoted(path)} is a ${type}`
  // `makeLinks` checks the target of a symbolic link.
  if (type === 'SymbolicLink') return null
  return RULES_BY_AREA[linkpath.split('/')[0] ?? '']?.isRunnable
    ? pathRejection(linkpath)
    : `${quoted(path)} is a hard link to ${quoted(linkpath)}, which is not in images or toolchain`
}

async function setModes(dir: string): Promise<void> {
  for await (const { path, absolute, stats } of walk(dir)) {
    const area = RULES_BY_AREA[path.split('/')[0] ?? '']
    if (!area) continue
    const isProgram = area.isRunnable && (stats.mode & 0o100) !== 0
    await chmod(absolute, stats.isDirectory() ? area.folder : isProgram ? 0o755 : area.file)
  }
}

async function makeLinks(dir: string, links: ReadonlyMap<string, string>): Promise<string[]> {
  const skipped: string[] = []
  for (const [path, target] of links) {
    const parents = path.split('/').slice(0, -1)
    const isBelowLink = parents.some((_, depth) => links.has(parents.slice(0, depth + 1).join('/')))
    if (isBelowLink || leavesTopFolder(links, path)) skipped.push(path)
    else {
      await mkdir(dirname(join(dir, path)), { recursive: true, mode: 0o755 })
      await symlink(target, join(dir, path))
    }
  }
  return skipped
}
