import { once } from 'node:events'
import { chmod, mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { ReadEntry, Unpack } from 'tar'
import { plainPath, quoted } from '../build/archive-rules.ts'
import { walk } from '../build/tree.ts'
import { leadsOutside, refusalOfPath } from './safe-path.ts'

/** The entries a backup may contain, by the first component of their path: modes, and whether executables and links are allowed. */
const AREAS: Record<string, { folder: number; file: number; isRunnable?: true }> = {
  postgres: { folder: 0o700, file: 0o600 },
  uploads: { folder: 0o700, file: 0o600 },
  images: { folder: 0o755, file: 0o644, isRunnable: true },
  toolchain: { folder: 0o755, file: 0o644, isRunnable: true },
  'uids.json': { folder: 0o700, file: 0o600 },
  'secrets.key': { folder: 0o700, file: 0o600 },
}

/**
 * Writes the content of a backup into the empty folder `dir`, with links last. Ignores owners and modes in the backup.
 * @returns the paths of links that were skipped because they point outside of their folder
 * @throws Error when the backup contains unexpected entries
 */
export async function unpackBackup(content: Readable, dir: string, signal: AbortSignal): Promise<string[]> {
  const links = new Map<string, string>()
  let refusal: string | null = null
  const admits = (entry: ReadEntry): boolean => {
    refusal ??= refusalOf(entry)
    if (refusal === null && entry.type === 'SymbolicLink') links.set(plainPath(entry.path), entry.linkpath ?? '')
    return refusal === null && entry.type !== 'SymbolicLink'
  }
  const unpack = new Unpack({
    cwd: dir,
    strict: true,
    preserveOwner: false,
    maxDecompressionRatio: 1,
    zstd: false,
    filter: (_path, entry) => entry instanceof ReadEntry && admits(entry),
  })
  let failure: unknown = null
  unpack.on('error', (error) => (failure ??= error))
  const ended = once(unpack, 'end')
  ended.catch(() => undefined)
  const check = () => {
    if (refusal !== null) throw new Error(`The backup is not restored: ${refusal}.`)
    if (failure !== null) throw failure
  }
  const unpacking = pipeline(
    content,
    createZstdDecompress(),
    async (tar: AsyncIterable<Buffer>) => {
      for await (const chunk of tar) {
        const mayContinue = unpack.write(chunk)
        check()
        if (!mayContinue) await once(unpack, 'drain')
      }
    },
    { signal },
  )
  await unpacking.catch((error: unknown) => {
    check()
    throw signal.aborted ? signal.reason : error
  })
  unpack.end()
  await ended
  check()
  await setModes(dir)
  return await makeLinks(dir, links)
}

function refusalOf({ path, type, linkpath = '' }: ReadEntry): string | null {
  const badPath = refusalOfPath(path)
  if (badPath !== null) return badPath
  const [area = ''] = plainPath(path).split('/')
  const known = Object.hasOwn(AREAS, area) ? AREAS[area] : undefined
  if (!known) return `${quoted(path)} is nothing that a backup holds`
  if (type === 'File' || type === 'Directory') return null
  if (!known.isRunnable || (type !== 'Link' && type !== 'SymbolicLink')) return `${quoted(path)} is a ${type}`
  const isTargetAllowed = type === 'SymbolicLink' || AREAS[linkpath.split('/')[0] ?? '']?.isRunnable === true
  return isTargetAllowed ? (type === 'Link' ? refusalOfPath(linkpath) : null) : `${quoted(path)} links to another place`
}

async function setModes(dir: string): Promise<void> {
  for await (const { path, absolute, stats } of walk(dir)) {
    const area = AREAS[path.split('/')[0] ?? '']
    if (!area) continue
    const isProgram = area.isRunnable && (stats.mode & 0o100) !== 0
    await chmod(absolute, stats.isDirectory() ? area.folder : isProgram ? 0o755 : area.file)
  }
}

async function makeLinks(dir: string, links: ReadonlyMap<string, string>): Promise<string[]> {
  const skipped: string[] = []
  for (const [path, target] of links) {
    const above = path.split('/').slice(0, -1)
    const isBehindLink = above.some((_, depth) => links.has(above.slice(0, depth + 1).join('/')))
    if (isBehindLink || leadsOutside(links, path)) skipped.push(path)
    else {
      await mkdir(dirname(join(dir, path)), { recursive: true, mode: 0o755 })
      await symlink(target, join(dir, path))
    }
  }
  return skipped
}
