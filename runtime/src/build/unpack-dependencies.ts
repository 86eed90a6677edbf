import { closeSync, mkdirSync, openSync, readSync, symlinkSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Parser, ReadEntry } from 'tar'
import type { UnpackLimits } from '../builder.ts'
import { ArchivePaths, KINDS } from './archive-paths.ts'
import { normalizedPath, quoted } from './archive-rules.ts'
import { EntryFilter, asFailure, invalidEntry } from './entry-filter.ts'
import { sealTree } from './seal-tree.ts'
import { checkLinks } from './unpack-archive.ts'

/** The folders of an archive of dependencies, and the trees to which their content belongs. */
const TREES_OF: Record<string, readonly TreeName[]> = {
  common: ['full', 'production'],
  full: ['full'],
  production: ['production'],
}

type TreeName = 'full' | 'production'

const CHUNK_BYTES = 1 << 20

/**
 * Unpacks the production dependencies of the uncompressed tar `file` into the new folder `to`, and seals them. Checks the whole tar, which
 * a build may have written: `common/` contains what `full` and `production` have in common, and `full/` and `production/` the rest.
 * Returns the size of the production dependencies in bytes.
 * @throws BuildFailure REQUIRED_SOURCE_FILE_INVALID when the archive is damaged, malicious or beyond the limits
 */
export function unpackDependencies(file: string, to: string, limits: UnpackLimits): number {
  const entries = new DependencyEntries(limits)
  const { filter } = entries
  const writer = new TreeWriter(to)
  const parser = new Parser({
    strict: true,
    maxDecompressionRatio: 1,
    zstd: false,
    filter: (_path, entry) => entry instanceof ReadEntry && entries.isWritten(entry),
  })
  parser.on('error', (error) => filter.fail(error))
  parser.on('ignoredEntry', (entry: ReadEntry) => filter.checkIgnored(entry))
  parser.on('entry', (entry: ReadEntry) => {
    try {
      writer.write(entry)
    } catch (error) {
      filter.fail(error)
      entry.resume()
    }
  })
  try {
    readChunks(file, (chunk) => {
      filter.countCompressed(chunk)
      filter.countInflated(chunk)
      parser.write(chunk)
      filter.throwIfFailed()
    })
    parser.end()
    filter.checkNotEmpty()
    Object.values(entries.links).forEach(checkLinks)
    for (const [path, target] of entries.links.production) writer.link(path, target)
  } catch (error) {
    throw asFailure(error)
  } finally {
    writer.close()
  }
  return sealTree(to, null)
}

/** Decides which entries are written, and checks that each tree has each path once. */
class DependencyEntries {
  readonly filter: EntryFilter
  /** The symbolic links of each tree: path → target. */
  readonly links: Record<TreeName, Map<string, string>> = { full: new Map(), production: new Map() }
  readonly #paths = { full: new ArchivePaths(), production: new ArchivePaths() }
  readonly #files = { full: new Set<string>(), production: new Set<string>() }

  constructor(limits: UnpackLimits) {
    this.filter = new EntryFilter(limits, 'result')
  }

  isWritten(entry: ReadEntry): boolean {
    const isAdmitted = this.filter.admits(entry)
    if (this.filter.failure !== null) return false
    const trees = this.#add(entry)
    return isAdmitted && trees.includes('production')
  }

  /** Adds an entry to its trees, and returns them. Records a failure if it cannot belong to them. */
  #add(entry: ReadEntry): readonly TreeName[] {
    const whole = normalizedPath(entry.path)
    const trees = TREES_OF[whole.split('/', 1)[0] ?? '']
    const path = pathInTree(entry)
    const kind = KINDS[entry.type] ?? 'file'
    if (trees === undefined || entry.type === 'Link' || (path === '' && kind !== 'folder')) {
      this.filter.fail(
        invalidEntry(`The archive contains ${quoted(entry.path)}, which does not belong to dependencies`),
      )
      return []
    }
    for (const tree of trees) {
      const isRepeated = kind !== 'folder' && this.#files[tree].has(path)
      const conflict = isRepeated ? `The archive contains ${quoted(path)} twice` : this.#paths[tree].add(path, kind)
      if (conflict !== null) this.filter.fail(invalidEntry(conflict))
      if (kind !== 'folder') this.#files[tree].add(path)
      if (kind === 'link') this.links[tree].set(path, entry.linkpath ?? '')
    }
    return trees
  }
}

/** Returns the path of an entry without the first folder. */
const pathInTree = (entry: ReadEntry): string => normalizedPath(entry.path).split('/').slice(1).join('/')

/** Writes entries below the new folder `root`. */
class TreeWriter {
  readonly #root: string
  readonly #folders = new Set<string>()
  readonly #openFiles = new Set<number>()

  constructor(root: string) {
    this.#root = root
    this.#makeFolder(root)
  }

  write(entry: ReadEntry): void {
    const target = join(this.#root, pathInTree(entry))
    if (entry.type === 'Directory') {
      this.#makeFolder(target)
      entry.resume()
      return
    }
    this.#makeFolder(dirname(target))
    const file = openSync(target, 'wx', entry.mode)
    this.#openFiles.add(file)
    entry.on('data', (chunk) => {
      for (let written = 0; written < chunk.length;) written += writeSync(file, chunk, written)
    })
    entry.on('end', () => this.#close(file))
  }

  link(path: string, target: string): void {
    const link = join(this.#root, path)
    this.#makeFolder(dirname(link))
    symlinkSync(target, link)
  }

  /** Closes the file of an entry that ended early. */
  close(): void {
    this.#openFiles.forEach((file) => this.#close(file))
  }

  #close(file: number): void {
    this.#openFiles.delete(file)
    closeSync(file)
  }

  #makeFolder(folder: string): void {
    if (this.#folders.has(folder)) return
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    this.#folders.add(folder)
  }
}

function readChunks(path: string, onChunk: (chunk: Buffer) => void): void {
  const file = openSync(path, 'r')
  try {
    for (;;) {
      // A new buffer for each chunk: the parser keeps parts of them.
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
      const bytes = readSync(file, buffer)
      if (bytes === 0) return
      onChunk(buffer.subarray(0, bytes))
    }
  } finally {
    closeSync(file)
  }
}
