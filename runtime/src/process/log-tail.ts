import { execFile } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync, readSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { type AdmitsBytes, LineSplitter, NEWLINE } from './lines.ts'

const READ_BYTES = 64 * 1024
/** Minimum size of a hole. */
const FREE_BYTES = 4 * 1024 * 1024
const BLOCK_BYTES = 4096
/** Number of acknowledged bytes that are kept, so that the last lines of a container can always be shown. */
export const KEPT_BYTES = 256 * 1024

/**
 * Maximum unread bytes, reached when a squid has written much while no server ran. The oldest part is then dropped, with a line in
 * the log.
 */
const MAX_UNREAD_BYTES = 256 * 1024 * 1024

/** Dropped bytes in which lines are counted exactly; the lines of further bytes are estimated, to bound the cost of a flood. */
const COUNTED_BYTES = 256 * 1024

/**
 * Size at which a log starts over at offset 0, when all of it was read. Programs can set the size of their log to any value, and file
 * systems limit the size even of a file that is mostly a hole.
 */
const MAX_FILE_BYTES = 64 * 1024 ** 3

const buffer = Buffer.allocUnsafe(READ_BYTES)

/** The result of reading a part of a log. `isRefused`: lines were not admitted, so everything up to the end of the file was dropped. */
export type LogPart = { lines: string[]; droppedLines: number; isEstimate: boolean; isRefused: boolean }

const NOTHING: LogPart = { lines: [], droppedLines: 0, isEstimate: false, isRefused: false }

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
  #backlogEnd: number

  /**
   * `path`: may return another path later, since the file is moved when its container is removed. `from`: an earlier `position`.
   * `backlogEnd`: see `isInBacklog`.
   */
  constructor(path: () => string, from: string | undefined, backlogEnd: number) {
    this.#backlogEnd = backlogEnd
    this.#path = path
    this.#fd = openSync(path(), 'r')
    const keptOffset = readKeptOffset(path())
    const requested = parsePosition(from ?? '')
    // The remaining part starts in the middle of a line.
    this.#moveTo(
      requested && requested.offset >= keptOffset ? requested : { offset: keptOffset, isSkipping: keptOffset > 0 },
    )
    this.#delivered = this.position
    this.#acknowledgedBytes = this.#offset
  }

  /** Offset of the next line. With the suffix `s`: an offset within a truncated line, whose rest is discarded. */
  get position(): string {
    const { isSkipping, pendingBytes } = this.#splitter
    return isSkipping ? `${this.#offset}s` : String(this.#offset - pendingBytes)
  }

  /** True while the next line was written before the tail was opened. */
  get isInBacklog(): boolean {
    return this.#offset < this.#backlogEnd
  }

  /** Returns the complete lines of the next chunk of the file, as far as `admits` accepts them. */
  read(admits: AdmitsBytes): LogPart {
    const { size } = fstatSync(this.#fd)
    // The program has truncated its file.
    if (size < this.#offset) this.#moveTo({ offset: 0, isSkipping: false })
    if (size > MAX_FILE_BYTES) return this.#startOver(size)
    if (size === this.#offset) return NOTHING
    const notices = this.#dropOldest(size)
    const { lines, droppedLines, isRefused } = this.#splitter.pushAdmitted(this.#readChunk(READ_BYTES), admits)
    const rest = isRefused ? this.#dropRest() : NOTHING
    this.#delivered = this.position
    return {
      lines: [...notices, ...lines],
      droppedLines: droppedLines + rest.droppedLines,
      isEstimate: rest.isEstimate,
      isRefused,
    }
  }

  /** Must be called when the reader has stored all lines delivered so far. */
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

  #readChunk(maxBytes: number): Buffer {
    const bytes = readSync(this.#fd, buffer, 0, maxBytes, this.#offset)
    this.#offset += bytes
    return buffer.subarray(0, bytes)
  }

  /** Drops everything up to the end of the file. */
  #dropRest(): Pick<LogPart, 'droppedLines' | 'isEstimate'> {
    const { size } = fstatSync(this.#fd)
    const from = this.#offset
    const countUntil = Math.min(size, from + COUNTED_BYTES)
    let droppedLines = 0
    while (this.#offset < countUntil)
      droppedLines += this.#splitter.drop(this.#readChunk(Math.min(READ_BYTES, countUntil - this.#offset)))
    if (countUntil === size) return { droppedLines, isEstimate: false }
    droppedLines += Math.round((droppedLines / COUNTED_BYTES) * (size - countUntil))
    this.#offset = size - 1
    this.#moveTo({ offset: size, isSkipping: this.#readChunk(1)[0] !== NEWLINE })
    return { droppedLines, isEstimate: true }
  }

  /** Empties a file that has become too large. Everything in it that was not read is dropped. */
  #startOver(size: number): LogPart {
    const unreadBytes = size - this.#offset
    truncateSync(this.#path(), 0)
    rmSync(keptOffsetFile(this.#path()), { force: true })
    this.#moveTo({ offset: 0, isSkipping: false })
    this.#delivered = this.position
    this.#acknowledgedBytes = this.#freedBytes = this.#backlogEnd = 0
    return { ...NOTHING, droppedLines: unreadBytes > 0 ? 1 : 0, isEstimate: true, isRefused: true }
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
    const freeUntil = Math.floor((this.#acknowledgedBytes - KEPT_BYTES) / BLOCK_BYTES) * BLOCK_BYTES
    if (process.platform !== 'linux' || this.#isFreeing || freeUntil - this.#freedBytes < FREE_BYTES) return
    this.#isFreeing = true
    try {
      // Written before the hole is made, so that readers without a position skip it.
      writeFileSync(keptOffsetFile(this.#path()), String(freeUntil), { mode: 0o600 })
      const args = ['--punch-hole', '--keep-size', '--offset', '0', '--length', String(freeUntil), this.#path()]
      await promisify(execFile)('fallocate', args)
    } catch {
      // The file system does not support holes: the space is freed when the container is removed.
    } finally {
      this.#freedBytes = freeUntil
      this.#isFreeing = false
    }
    // More may have been acknowledged while the hole was made.
    return this.#free()
  }
}

/** The file next to a log that contains the offset of its first byte that was not freed. */
export const keptOffsetFile = (logFile: string): string => `${logFile}.kept-from`

type Position = { offset: number; isSkipping: boolean }

function parsePosition(text: string): Position | null {
  const match = /^(\d+)(s?)$/.exec(text)
  return match ? { offset: Number(match[1]), isSkipping: match[2] === 's' } : null
}

/** Returns the offset of the first byte that was not freed. */
export function readKeptOffset(logFile: string): number {
  try {
    return Number(readFileSync(keptOffsetFile(logFile), 'utf8'))
  } catch {
    return 0
  }
}
