import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type AdmitsBytes, LineSplitter, NEWLINE } from './lines.ts'
import { type LogStart, emptyLog, freeLog, readLogStart, shortenLog } from './log-start.ts'

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

/**
 * The number of dropped bytes up to which lines are counted exactly. The lines in further bytes are estimated, to bound the cost of a
 * flood.
 */
const COUNTED_BYTES = 256 * 1024

/**
 * Size at which a log is emptied even if it was not read completely. Programs can set the size of their log to any value, and file
 * systems limit even the size of a file that is mostly a hole.
 */
const MAX_FILE_BYTES = 64 * 1024 ** 3

/** By default, a file is shortened when the part that was read reaches this size. */
export const SHORTEN_BYTES = 256 * 1024 * 1024

const buffer = Buffer.allocUnsafe(READ_BYTES)

/** The result of reading a part of a log. `isRefused`: lines were not admitted, so everything up to the end of the file was dropped. */
export type LogPart = { lines: string[]; droppedLines: number; isEstimate: boolean; isRefused: boolean }

const NOTHING: LogPart = { lines: [], droppedLines: 0, isEstimate: false, isRefused: false }

/**
 * Where a tail begins. `from`: an earlier `position`. `backlogEnd`: see `isInBacklog`. `shortenBytes`: size of the part that was read
 * at which the file is shortened, so that its size stays below the limit of its program.
 */
export type TailOptions = { from: string | undefined; backlogEnd: number; shortenBytes: number }

/** Reads a growing log file line by line, frees the disk space of acknowledged lines and shortens the file. */
export class LogTail {
  readonly #path: () => string
  readonly #fd: number
  readonly #shortenBytes: number
  readonly #backlogEnd: number
  #start: LogStart
  /** The position (see `LogStart`) up to which the file was read. */
  #offset = 0
  #splitter = new LineSplitter()
  #delivered = ''
  #acknowledgedBytes = 0
  #isFreeing = false
  /** True while the file is being shortened, and positions cannot be converted to offsets in it. */
  #isShortening = false
  /** False on file systems that cannot remove the beginning of a file. */
  #canShorten = process.platform === 'linux'

  /** `path`: may return another path later, since the file is moved when its container is removed. */
  constructor(path: () => string, { from, backlogEnd, shortenBytes }: TailOptions) {
    this.#backlogEnd = backlogEnd
    this.#shortenBytes = shortenBytes
    this.#path = path
    this.#fd = openSync(path(), 'r')
    this.#start = readLogStart(path())
    const { keptFrom } = this.#start
    const requested = parsePosition(from ?? '')
    // The remaining part starts in the middle of a line.
    this.#moveTo(requested && requested.offset >= keptFrom ? requested : { offset: keptFrom, isSkipping: keptFrom > 0 })
    this.#delivered = this.position
    this.#acknowledgedBytes = this.#offset
  }

  /** Position of the next line. With the suffix `s`: a position within a truncated line, whose rest is discarded. */
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
    if (this.#isShortening) return NOTHING
    const end = this.#end()
    // The program has truncated its file.
    if (end < this.#offset) this.#moveTo({ offset: this.#start.removedBytes, isSkipping: false })
    if (end - this.#start.removedBytes > MAX_FILE_BYTES) return this.#isFreeing ? NOTHING : this.#emptyHugeFile(end)
    if (end === this.#offset) {
      this.#emptyIfLong(false)
      return NOTHING
    }
    const notices = this.#dropOldest(end)
    const { lines, droppedLines, isRefused } = this.#splitter.pushAdmitted(this.#readChunk(READ_BYTES), admits)
    const rest = isRefused ? this.#dropRest() : NOTHING
    this.#emptyIfLong(isRefused)
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
    return !this.#isFreeing && this.#acknowledgedBytes >= this.#end()
  }

  close(): void {
    closeSync(this.#fd)
  }

  /** The position at which the program writes next. */
  #end(): number {
    return this.#start.removedBytes + fstatSync(this.#fd).size
  }

  #readChunk(maxBytes: number): Buffer {
    const bytes = readSync(this.#fd, buffer, 0, maxBytes, this.#offset - this.#start.removedBytes)
    this.#offset += bytes
    return buffer.subarray(0, bytes)
  }

  /** Drops everything up to the end of the file. */
  #dropRest(): Pick<LogPart, 'droppedLines' | 'isEstimate'> {
    const end = this.#end()
    const from = this.#offset
    const countUntil = Math.min(end, from + COUNTED_BYTES)
    let droppedLines = 0
    while (this.#offset < countUntil)
      droppedLines += this.#splitter.drop(this.#readChunk(Math.min(READ_BYTES, countUntil - this.#offset)))
    if (countUntil === end) return { droppedLines, isEstimate: false }
    droppedLines += Math.round((droppedLines / COUNTED_BYTES) * (end - countUntil))
    this.#offset = end - 1
    this.#moveTo({ offset: end, isSkipping: this.#readChunk(1)[0] !== NEWLINE })
    return { droppedLines, isEstimate: true }
  }

  /** Empties a file that has become too large, and drops everything in it that was not read. */
  #emptyHugeFile(end: number): LogPart {
    const unreadBytes = end - this.#offset
    this.#start = emptyLog(this.#path(), end)
    this.#moveTo({ offset: end, isSkipping: false })
    this.#delivered = this.position
    this.#acknowledgedBytes = end
    return { ...NOTHING, droppedLines: unreadBytes > 0 ? 1 : 0, isEstimate: true, isRefused: true }
  }

  /**
   * Empties a long file that was read completely, on file systems that cannot remove its beginning. Output that the program writes at
   * this moment is lost, and so are the last lines if the server is killed before they are stored. `isFlood`: output of this program
   * is being dropped anyway, and the program may never stop writing.
   */
  #emptyIfLong(isFlood: boolean): void {
    if (this.#canShorten || this.#isFreeing) return
    const end = this.#end()
    const isLong = end - this.#start.removedBytes > this.#shortenBytes
    if (!isLong || (end > this.#offset && !isFlood)) return
    if (end > this.#offset) this.#moveTo({ offset: end, isSkipping: true })
    this.#start = emptyLog(this.#path(), end)
  }

  #moveTo({ offset, isSkipping }: Position): void {
    this.#offset = offset
    this.#splitter = new LineSplitter(isSkipping)
  }

  #dropOldest(end: number): string[] {
    const surplus = end - this.#offset - MAX_UNREAD_BYTES
    if (surplus <= 0) return []
    const dropped = surplus + MAX_UNREAD_BYTES / 2
    this.#moveTo({ offset: this.#offset + dropped, isSkipping: true })
    return [
      `${Math.round(dropped / 1024 / 1024)} MiB of log were dropped here: the program writes faster than its log can be read`,
    ]
  }

  /** Frees the acknowledged part, and removes it from the file when it is long. */
  async #free(): Promise<void> {
    const until = Math.floor((this.#acknowledgedBytes - KEPT_BYTES) / BLOCK_BYTES) * BLOCK_BYTES
    if (process.platform !== 'linux' || this.#isFreeing || until - this.#start.keptFrom < FREE_BYTES) return
    this.#isFreeing = true
    try {
      this.#start = await freeLog(this.#path, this.#start, until)
      if (this.#canShorten && until - this.#start.removedBytes >= this.#shortenBytes) await this.#shorten()
    } catch {
      // The log was removed, the disk is full, or fallocate could not be started. The next acknowledgement tries again.
      this.#start = { ...this.#start, keptFrom: until }
    } finally {
      this.#isFreeing = false
    }
    // More may have been acknowledged in the meantime.
    return this.#free()
  }

  async #shorten(): Promise<void> {
    this.#isShortening = true
    try {
      const shortened = await shortenLog(this.#path, this.#start, this.#start.keptFrom)
      this.#canShorten = shortened !== null
      this.#start = shortened ?? this.#start
    } catch (error) {
      this.#start = readLogStart(this.#path())
      throw error
    } finally {
      this.#isShortening = false
    }
  }
}

type Position = { offset: number; isSkipping: boolean }

function parsePosition(text: string): Position | null {
  const match = /^(\d+)(s?)$/.exec(text)
  return match ? { offset: Number(match[1]), isSkipping: match[2] === 's' } : null
}
