import { once } from 'node:events'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { ReadEntry, Unpack } from 'tar'
import { BuildFailure, type UnpackLimits } from '../builder.ts'
import { escapingLink, plainPath, quoted, refusalOf, resolveLink } from './archive-rules.ts'

/** Unpacked size below which the compression ratio is not limited: small trees of zeros are harmless. */
const RATIO_FREE_BYTES = 4 * 1024 * 1024
/** Maximum overhead of the tar format per entry: headers, padding, long names. */
const OVERHEAD_BYTES = 4096
/** Folders that `sqd` never packs. Other tools may, and they would interfere with the install. */
const IGNORED_FOLDERS = new Set(['node_modules', '.git'])

/**
 * Unpacks an untrusted `.tar.gz` into the empty folder `dir`; resolves with notes for the user.
 * Creates links last, so that nothing is written through them. Of modes and owners, keeps only the owner's executable bit.
 * @throws BuildFailure REQUIRED_SOURCE_FILE_INVALID when the archive is damaged, malicious or beyond the limits
 */
export async function unpackArchive(archive: Readable, dir: string, limits: UnpackLimits): Promise<string[]> {
  const admission = new Admission(limits)
  const unpack = new Unpack({
    cwd: dir,
    strict: true,
    preserveOwner: false,
    noMtime: true,
    // The gzip layer is decompressed and measured here; a nested one must not be decompressed.
    maxDecompressionRatio: 1,
    zstd: false,
    filter: (_path, entry) => entry instanceof ReadEntry && admission.admits(entry),
  })
  unpack.on('error', (error) => admission.fail(error))
  try {
    const ended = once(unpack, 'end')
    ended.catch(() => undefined)
    await pipeline(archive, countingCompressed(admission), createGunzip(), async (inflated: AsyncIterable<Buffer>) => {
      for await (const chunk of inflated) {
        admission.countInflated(chunk)
        const mayContinue = unpack.write(chunk)
        admission.check()
        if (!mayContinue) {
          await once(unpack, 'drain')
        }
      }
    })
    unpack.end()
    await ended
    admission.checkNotEmpty()
    await makeLinks(dir, admission.links)
  } catch (error) {
    throw asFailure(admission.failure ?? error)
  }
  return admission.notes()
}

/** Decides which entries are written, and fails when a limit is exceeded. */
class Admission {
  /** The first failure; later ones are consequences of it. */
  failure: unknown = null
  readonly links = new Map<string, string>()
  #limits: UnpackLimits
  #ignored = new Set<string>()
  #entries = 0
  #bytes = 0
  #compressedBytes = 0
  #inflatedBytes = 0

  constructor(limits: UnpackLimits) {
    this.#limits = limits
  }

  countCompressed(chunk: Buffer): void {
    this.#compressedBytes += chunk.length
  }

  fail(error: unknown): void {
    this.failure ??= error
  }

  countInflated(chunk: Buffer): void {
    this.#inflatedBytes += chunk.length
    const { totalBytes, files, ratio } = this.#limits
    if (this.#inflatedBytes > RATIO_FREE_BYTES && this.#inflatedBytes > ratio * this.#compressedBytes) {
      throw invalid(`The archive unpacks to more than ${ratio} times its size, which looks like a decompression bomb`)
    }
    if (this.#inflatedBytes > totalBytes + (files + 1) * OVERHEAD_BYTES) {
      throw tooLarge(totalBytes)
    }
  }

  admits(entry: ReadEntry): boolean {
    if (this.failure !== null) {
      return false
    }
    this.#entries += 1
    this.#bytes += entry.size
    this.failure = this.#check(entry)
    if (this.failure !== null) {
      return false
    }
    const path = plainPath(entry.path)
    const ignored = path === '.env' ? '.env' : path.split('/').find((part) => IGNORED_FOLDERS.has(part))
    if (ignored !== undefined) {
      this.#ignored.add(ignored)
      return false
    }
    if (entry.type === 'SymbolicLink') {
      this.links.set(path, entry.linkpath ?? '')
      return false
    }
    const isRunnable = entry.type === 'Directory' || ((entry.mode ?? 0) & 0o100) !== 0
    entry.mode = isRunnable ? 0o755 : 0o644
    return true
  }

  #check(entry: ReadEntry): BuildFailure | null {
    const refusal = refusalOf(entry)
    if (refusal !== null) {
      return invalid(refusal)
    }
    if (this.#entries > this.#limits.files) {
      return invalid(
        `The archive contains more than ${this.#limits.files} files. Use .squidignore to exclude files that the squid does not need`,
      )
    }
    return this.#bytes > this.#limits.totalBytes ? tooLarge(this.#limits.totalBytes) : null
  }

  check(): void {
    if (this.failure !== null) {
      throw asFailure(this.failure)
    }
  }

  checkNotEmpty(): void {
    this.check()
    if (this.#entries === 0) {
      throw invalid('The archive is empty')
    }
  }

  notes(): string[] {
    return [...this.#ignored].map((name) =>
      name === '.env'
        ? 'The .env file was ignored: set variables in the manifest and secrets with `sqd secrets set`'
        : `The archive’s ${name} was ignored`,
    )
  }
}

async function makeLinks(dir: string, links: ReadonlyMap<string, string>): Promise<void> {
  for (const [path, target] of links) {
    if (resolveLink(links, path) === null) {
      throw invalid(escapingLink(path, 'link', target))
    }
    const above = path.split('/').slice(0, -1)
    if (above.some((_, depth) => links.has(above.slice(0, depth + 1).join('/')))) {
      throw invalid(`${quoted(path)} is located behind a link`)
    }
  }
  for (const [path, target] of links) {
    await mkdir(dirname(join(dir, path)), { recursive: true, mode: 0o755 })
    await symlink(target, join(dir, path))
  }
}

function countingCompressed(admission: Admission) {
  return async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      admission.countCompressed(chunk)
      yield chunk
    }
  }
}

/** Maps errors caused by a damaged or inconsistent archive to a `BuildFailure`; returns errors of the disk or of the source unchanged. */
function asFailure(error: unknown): unknown {
  if (error instanceof BuildFailure || !(error instanceof Error)) {
    return error
  }
  const code = 'code' in error ? String(error.code) : ''
  if (code.startsWith('Z_')) {
    return invalid('The archive is damaged or not a .tar.gz file. Deploy again')
  }
  if (code === 'EEXIST' || code === 'ENOTDIR' || code === 'EISDIR' || code === 'ENOTEMPTY') {
    return invalid(`The archive contains the same path twice (${messageWithoutPaths(error)})`)
  }
  const isFromTar = 'tarCode' in error
  const isDisk = isFromTar && /^E[A-Z]+$/.test(code) && code !== 'ENOENT'
  return isFromTar && !isDisk ? invalid(`The archive cannot be unpacked (${messageWithoutPaths(error)})`) : error
}

/** The message without paths of this host. */
function messageWithoutPaths(error: Error): string {
  return error.message.replace(/^[A-Z_]+: /, '').replace(/'?\/[^']*'?/g, '…')
}

function tooLarge(totalBytes: number): BuildFailure {
  const limitMb = Math.round(totalBytes / 1e6)
  return invalid(
    `The archive unpacks to more than ${limitMb} MB. Use .squidignore to exclude files that the squid does not need`,
  )
}

function invalid(message: string): BuildFailure {
  return new BuildFailure('REQUIRED_SOURCE_FILE_INVALID', `${message}.`)
}
