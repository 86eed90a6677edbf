import { execFile } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { LineSplitter } from './lines.ts'

const READ_BYTES = 64 * 1024
/** Minimum size of a hole. */
const FREE_BYTES = 4 * 1024 * 1024
const BLOCK_BYTES = 4096
/** Kept although acknowledged, so that the last lines of a container can always be shown. */
export const KEPT_BYTES = 256 * 1024

/**
 * Maximum unread bytes. Beyond, a squid has been writing faster than its log is read for long: the oldest part is dropped, with a
 * line in the log, before the disk is full.
 */
const MAX_UNREAD_BYTES = 1024 * 1024 * 1024

const buffer = Buffer.allocUnsafe(READ_BYTES)

/** Reads a growing log file line by line and frees the disk space of acknowledged lines. */
export class LogTail {
  readonly #path: () => string
  readonly #fd: number
  #offset = 0
  #splitter = new LineSplitter()
  #delivered = ''
  #acknowledgedBytes = 0
  #freedBytes = 0
  #isFreeing = false

  /** `path` may change (the file is moved when its container is removed); `from`: an earlier `position`, or empty. */
  constructor(path: () => string, from: string | undefined) {
    this.#path = path
    this.#fd = openSync(path(), 'r')
    const keptFrom = readKeptFrom(path())
    const requested = parsePosition(from ?? '')
    // The kept part starts in the middle of a line.
    this.#moveTo(requested && requested.offset >= keptFrom ? requested : { offset: keptFrom, isSkipping: keptFrom > 0 })
    this.#delivered = this.position
    this.#acknowledgedBytes = this.#offset
  }

  /** Start of the next line. With the suffix `s`: within a truncated line whose rest is discarded. */
  get position(): string {
    const { isSkipping, pendingBytes } = this.#splitter
    return isSkipping ? `${this.#offset}s` : String(this.#offset - pendingBytes)
  }

  /** Complete lines of the next piece of the file. */
  read(): string[] {
    const { size } = fstatSync(this.#fd)
    // The program has truncated its file.
    if (size < this.#offset) this.#moveTo({ offset: 0, isSkipping: false })
    if (size === this.#offset) return []
    const notices = this.#dropOldest(size)
    const bytes = readSync(this.#fd, buffer, 0, READ_BYTES, this.#offset)
    this.#offset += bytes
    const lines = this.#splitter.push(buffer.subarray(0, bytes))
    this.#delivered = this.position
    return [...notices, ...lines]
  }

  /** The reader has stored everything delivered so far. */
  acknowledge(): void {
    this.#acknowledgedBytes = Number.parseInt(this.#delivered, 10)
    void this.#free()
  }

  get isAcknowledged(): boolean {
    return this.#acknowledgedBytes >= fstatSync(this.#fd).size
  }

  close(): void {
    closeSync(this.#fd)
  }

  #moveTo({ offset, isSkipping }: Position): void {
    this.#offset = offset
    this.#splitter = new LineSplitter(isSkipping)
  }

  #dropOldest(size: number): string[] {
    const surplus = size - this.#offset - MAX_UNREAD_BYTES
    if (surplus <= 0) return []
    const dropped = surplus + MAX_UNREAD_BYTES / 2
    this.#moveTo({ offset: this.#offset + dropped, isSkipping: true })
    return [
      `${Math.round(dropped / 1024 / 1024)} MiB of log were dropped here: the program writes faster than its log can be kept`,
    ]
  }

  /** Turns the acknowledged part into a hole, without changing the size of the file (fallocate(1), only on Linux). */
  async #free(): Promise<void> {
    const upTo = Math.floor((this.#acknowledgedBytes - KEPT_BYTES) / BLOCK_BYTES) * BLOCK_BYTES
    if (process.platform !== 'linux' || this.#isFreeing || upTo - this.#freedBytes < FREE_BYTES) return
    this.#isFreeing = true
    try {
      // Written first, so that readers from the beginning skip the hole.
      writeFileSync(keptFromFile(this.#path()), String(upTo), { mode: 0o600 })
      const words = ['--punch-hole', '--keep-size', '--offset', '0', '--length', String(upTo), this.#path()]
      await promisify(execFile)('fallocate', words)
    } catch {
      // The file system does not support holes: the space is freed when the container is removed.
    } finally {
      this.#freedBytes = upTo
      this.#isFreeing = false
    }
    // More may have been acknowledged in the meantime.
    return this.#free()
  }
}

/** File beside a log with the offset of the first byte that was not freed. */
export const keptFromFile = (logFile: string): string => `${logFile}.kept-from`

type Position = { offset: number; isSkipping: boolean }

function parsePosition(text: string): Position | null {
  const match = /^(\d+)(s?)$/.exec(text)
  return match ? { offset: Number(match[1]), isSkipping: match[2] === 's' } : null
}

/** Offset of the first byte that was not freed. */
export function readKeptFrom(logFile: string): number {
  try {
    return Number(readFileSync(keptFromFile(logFile), 'utf8'))
  } catch {
    return 0
  }
}
