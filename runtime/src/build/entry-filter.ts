import type { ReadEntry } from 'tar'
import { BuildFailure, type UnpackLimits } from '../builder.ts'
import { ArchivePaths, KINDS, type PathKind } from './archive-paths.ts'
import { normalizedPath, quoted, rejectionReason } from './archive-rules.ts'

/** Unpacked size up to which the compression ratio is not limited, since small archives are harmless. */
const MIN_BYTES_FOR_RATIO = 4 * 1024 * 1024
/** Maximum overhead of the tar format per entry: headers, padding, long names. */
const OVERHEAD_BYTES = 4096
/** Maximum size of all paths and targets of links, which are kept in memory. */
const MAX_NAMES_BYTES = 64 * 1024 * 1024
/** Folders that `sqd` never packs but other tools may. They would interfere with the install. */
const IGNORED_FOLDERS = new Set(['node_modules', '.git'])

/** Decides which entries are written, and fails when a limit is exceeded. */
export class EntryFilter {
  /** The first failure; later failures are its consequences. */
  failure: unknown = null
  readonly links = new Map<string, string>()
  #limits: UnpackLimits
  #keepsAll: boolean
  #ignored = new Set<string>()
  #paths = new ArchivePaths()
  #checked = new WeakSet<ReadEntry>()
  #entries = 0
  #bytes = 0
  #namesBytes = 0
  #compressedBytes = 0
  #inflatedBytes = 0

  /** In a `source`, `node_modules`, `.git` and `.env` are ignored. In a `result`, the output of a build, they are kept. */
  constructor(limits: UnpackLimits, content: 'source' | 'result' = 'source') {
    this.#limits = limits
    this.#keepsAll = content === 'result'
  }

  /** Counts bytes of the compressed archive, to which `countInflated` compares the inflated ones. */
  countCompressed(chunk: Buffer): void {
    this.#compressedBytes += chunk.length
  }

  /** Records a failure, which `throwIfFailed` throws. */
  fail(error: unknown): void {
    this.failure ??= error
  }

  /** Counts bytes of the tar. @throws BuildFailure when the size or the compression ratio exceeds its limit */
  countInflated(chunk: Buffer): void {
    this.#inflatedBytes += chunk.length
    const { totalBytes, files, ratio } = this.#limits
    if (this.#inflatedBytes > MIN_BYTES_FOR_RATIO && this.#inflatedBytes > ratio * this.#compressedBytes) {
      throw invalidEntry(
        `The archive unpacks to more than ${ratio} times its size, which looks like a decompression bomb`,
      )
    }
    if (this.#inflatedBytes > totalBytes + (files + 1) * OVERHEAD_BYTES) {
      throw tooLarge(totalBytes)
    }
  }

  /**
   * Returns whether tar may write the entry; records the failure of an invalid entry. A symbolic link is added to `links` instead of
   * being written.
   */
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
    const path = normalizedPath(entry.path)
    const ignored = this.#keepsAll ? undefined : ignoredPart(path)
    if (ignored !== undefined) {
      this.#ignored.add(ignored)
      return false
    }
    this.failure = this.#checkPath(path, KINDS[entry.type] ?? 'file')
    if (this.failure !== null) {
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

  /** Records the failure of an entry that tar skips without calling the filter: one of an unsupported type, or a large header. */
  checkIgnored(entry: ReadEntry): void {
    if (entry.meta) {
      this.fail(invalidEntry('The archive contains a name or attributes of more than 1 MB'))
    } else if (!this.#checked.has(entry)) {
      this.fail(invalidEntry(rejectionReason(entry) ?? `${quoted(entry.path)} has an unknown type`))
    }
  }

  #check(entry: ReadEntry): BuildFailure | null {
    this.#checked.add(entry)
    const reason = rejectionReason(entry)
    if (reason !== null) {
      return invalidEntry(reason)
    }
    if (!Number.isSafeInteger(entry.size)) {
      return invalidEntry(`The archive contains an invalid size for ${quoted(entry.path)}`)
    }
    this.#namesBytes += entry.path.length + (entry.linkpath?.length ?? 0)
    if (this.#namesBytes > MAX_NAMES_BYTES) {
      return invalidEntry('The file names in the archive are too long in total')
    }
    if (this.#entries > this.#limits.files) {
      return tooManyFiles(this.#limits.files)
    }
    return this.#bytes > this.#limits.totalBytes ? tooLarge(this.#limits.totalBytes) : null
  }

  #checkPath(path: string, kind: PathKind): BuildFailure | null {
    const reason = this.#paths.add(path, kind)
    if (reason !== null) {
      return invalidEntry(reason)
    }
    // Folders count even if they have no entry, since each needs disk space.
    return this.#paths.count > this.#limits.files ? tooManyFiles(this.#limits.files) : null
  }

  throwIfFailed(): void {
    if (this.failure !== null) {
      throw asFailure(this.failure)
    }
  }

  /** @throws the recorded failure, or a BuildFailure when the archive has no entries */
  checkNotEmpty(): void {
    this.throwIfFailed()
    if (this.#entries === 0) {
      throw invalidEntry('The archive is empty')
    }
  }

  /** Returns sentences for the user about ignored files, without their full stops. */
  notes(): string[] {
    return [...this.#ignored].map((name) =>
      name === '.env'
        ? 'The .env file was ignored: set variables in the manifest and secrets with `sqd secrets set`'
        : `The archive’s ${name} was ignored`,
    )
  }
}

const ignoredPart = (path: string): string | undefined =>
  path === '.env' ? '.env' : path.split('/').find((part) => IGNORED_FOLDERS.has(part))

/** Maps errors caused by a damaged or inconsistent archive to a `BuildFailure`; returns errors of the disk or of the source unchanged. */
export function asFailure(error: unknown): unknown {
  if (error instanceof BuildFailure || !(error instanceof Error)) {
    return error
  }
  const code = 'code' in error ? String(error.code) : ''
  if (code.startsWith('Z_')) {
    return invalidEntry('The archive is damaged or not a .tar.gz file. Deploy again')
  }
  if (code === 'EEXIST' || code === 'ENOTDIR' || code === 'EISDIR' || code === 'ENOTEMPTY') {
    return invalidEntry(`The archive contains the same path twice (${messageWithoutPaths(error)})`)
  }
  const isFromTar = 'tarCode' in error
  const isDiskError = isFromTar && /^E[A-Z]+$/.test(code) && code !== 'ENOENT'
  return isFromTar && !isDiskError
    ? invalidEntry(`The archive cannot be unpacked (${messageWithoutPaths(error)})`)
    : error
}

/** Removes paths of this host from the message. */
function messageWithoutPaths(error: Error): string {
  return error.message.replace(/^[A-Z_]+: /, '').replace(/'?\/[^']*'?/g, '…')
}

function tooManyFiles(files: number): BuildFailure {
  return invalidEntry(
    `The archive contains more than ${files} files and folders. Use .squidignore to exclude files that the squid does not need`,
  )
}

function tooLarge(totalBytes: number): BuildFailure {
  const limitMb = Math.round(totalBytes / 1e6)
  return invalidEntry(
    `The archive unpacks to more than ${limitMb} MB. Use .squidignore to exclude files that the squid does not need`,
  )
}

/** Returns the failure of an archive that Shoal does not accept. `message` is a sentence without a full stop. */
export function invalidEntry(message: string): BuildFailure {
  return new BuildFailure('REQUIRED_SOURCE_FILE_INVALID', `${message}.`)
}
