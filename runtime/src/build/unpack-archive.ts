import { once } from 'node:events'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { ReadEntry, Unpack } from 'tar'
import type { UnpackLimits } from '../builder.ts'
import { escapingLink, quoted, resolveLink } from './archive-rules.ts'
import { EntryFilter, asFailure, invalidEntry } from './entry-filter.ts'
import { whenClosed } from './tar-closing.ts'

/**
 * Unpacks an untrusted `.tar.gz` into the empty folder `dir`; resolves with notes for the user. Keeps the owner's executable bit, but
 * neither other modes nor owners. Creates links last, so that no file is written through them. Ignores `node_modules`, `.git` and
 * `.env`, unless `content` is the `result` of a build.
 * @throws BuildFailure REQUIRED_SOURCE_FILE_INVALID when the archive is damaged, malicious or beyond the limits
 */
export async function unpackArchive(
  archive: Readable,
  dir: string,
  limits: UnpackLimits,
  content: 'source' | 'result' = 'source',
): Promise<string[]> {
  const entryFilter = new EntryFilter(limits, content)
  const unpack = new Unpack({
    cwd: dir,
    strict: true,
    preserveOwner: false,
    noMtime: true,
    // The gzip layer is decompressed and measured below; tar must not decompress a nested one.
    maxDecompressionRatio: 1,
    zstd: false,
    filter: (_path, entry) => entry instanceof ReadEntry && entryFilter.admits(entry),
  })
  unpack.on('error', (error) => entryFilter.fail(error))
  unpack.on('ignoredEntry', (entry: ReadEntry) => entryFilter.checkIgnored(entry))
  const closed = whenClosed(unpack)
  await pipeline(archive, countingCompressed(entryFilter), createGunzip(), async (inflated: AsyncIterable<Buffer>) => {
    for await (const chunk of inflated) {
      entryFilter.countInflated(chunk)
      const mayContinue = unpack.write(chunk)
      entryFilter.throwIfFailed()
      if (!mayContinue) {
        await once(unpack, 'drain')
      }
    }
  }).catch((error: unknown) => entryFilter.fail(error))
  unpack.end()
  await closed
  try {
    entryFilter.checkNotEmpty()
    await makeLinks(dir, entryFilter.links)
  } catch (error) {
    throw asFailure(error)
  }
  return entryFilter.notes()
}

/** @throws BuildFailure if a symbolic link leaves the tree, or is behind another link. `links`: path → target */
export function checkLinks(links: ReadonlyMap<string, string>): void {
  for (const [path, target] of links) {
    if (resolveLink(links, path) === null) {
      throw invalidEntry(escapingLink(path, 'link', target))
    }
    const parents = path.split('/').slice(0, -1)
    if (parents.some((_, depth) => links.has(parents.slice(0, depth + 1).join('/')))) {
      throw invalidEntry(`${quoted(path)} is located behind a link`)
    }
  }
}

async function makeLinks(dir: string, links: ReadonlyMap<string, string>): Promise<void> {
  checkLinks(links)
  for (const [path, target] of links) {
    await mkdir(dirname(join(dir, path)), { recursive: true, mode: 0o755 })
    await symlink(target, join(dir, path))
  }
}

function countingCompressed(entryFilter: EntryFilter) {
  return async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      entryFilter.countCompressed(chunk)
      yield chunk
    }
  }
}
