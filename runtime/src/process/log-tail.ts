import { execFile } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { LineSplitter } from './lines.ts'

const READ_BYTES = 64 * 1024
/** Holes are punched in pieces of at least this size. */
const FREE_BYTES = 4 * 1024 * 1024
const BLOCK_BYTES = 4096
/** Stays although it was acknowledged, so that the last lines of a container can always be shown. */
export const KEPT_BYTES = 256 * 1024

/**
 * More than this unread means that a squid writes faster than its log can be taken, for long: the oldest part is given up,
 * and the log says so, before the disk is full.
 */
const MAX_UNREAD_BYTES = 1024 * 1024 * 1024

const buffer = Buffer.allocUnsafe(READ_BYTES)

/** Reads one growing log file line by line and gives back the disk space behind what was acknowledged. */
export class LogTail {
  readonly #path: () => string
  readonly #fd: number
  #offset = 0
  #splitter = new LineSplitter()
  #delivered = ''
  #acknowledgedBytes = 0
  #freedBytes = 0
  #isFreeing = false

  /** `path` may change (the file is moved when its container goes); `from` is a `position` of earlier, or empty. */
  constructor(path: () => string, from: string | undefined) {
    this.#path = path
    this.#fd = openSync(path(), 'r')
    const keptFrom = readKeptFrom(path())
    const wanted = parsePosition(from ?? '')
    // What is kept begins in the midst of a line.
    this.#moveTo(wanted && wanted.offset >= keptFrom ? wanted : { offset: keptFrom, isSkipping: keptFrom > 0 })
    this.#delivered = this.position
    this.#acknowledgedBytes = this.#offset
  }

  /** Where the next line begins. An `s` at the end: in the midst of a line whose rest is thrown away. */
  get position(): string {
    const { isSkipping, pendingBytes } = this.#splitter
    return isSkipping ? `${this.#offset}s` : String(this.#offset - pendingBytes)
  }

  /** Lines that are complete now, at most of one piece of the file. Empty: nothing new. */
  read(): string[] {
    const { size } = fstatSync(this.#fd)
    // The program itself cut its file short.
    if (size < this.#offset) this.#moveTo({ offset: 0, isSkipping: false })
    if (size === this.#offset) return []
    const given = this.#giveUpOldest(size)
    const bytes = readSync(this.#fd, buffer, 0, READ_BYTES, this.#offset)
    this.#offset += bytes
    const lines = this.#splitter.push(buffer.subarray(0, bytes))
    this.#delivered = this.position
    return [...given, ...lines]
  }

  /** Everything delivered so far is safe with the reader. */
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

  #giveUpOldest(size: number): string[] {
    const surplus = size - this.#offset - MAX_UNREAD_BYTES
    if (surplus <= 0) return []
    const givenUp = surplus + MAX_UNREAD_BYTES / 2
    this.#moveTo({ offset: this.#offset + givenUp, isSkipping: true })
    return [
      `${Math.round(givenUp / 1024 / 1024)} MiB of log were dropped here: the program writes faster than its log can be kept`,
    ]
  }

  /** The file keeps its size; what is behind the reader becomes a hole (fallocate(1); elsewhere than on Linux it stays). */
  async #free(): Promise<void> {
    const upTo = Math.floor((this.#acknowledgedBytes - KEPT_BYTES) / BLOCK_BYTES) * BLOCK_BYTES
    if (process.platform !== 'linux' || this.#isFreeing || upTo - this.#freedBytes < FREE_BYTES) return
    this.#isFreeing = true
    try {
      // First: whoever reads from the beginning must not read the hole.
      writeFileSync(keptFromFile(this.#path()), String(upTo), { mode: 0o600 })
      const words = ['--punch-hole', '--keep-size', '--offset', '0', '--length', String(upTo), this.#path()]
      await promisify(execFile)('fallocate', words)
    } catch {
      // This file system has no holes: the space comes back when the container goes.
    } finally {
      this.#freedBytes = upTo
      this.#isFreeing = false
    }
    // More was acknowledged meanwhile.
    return this.#free()
  }
}

/** Beside a log file: from which byte on it still has content. */
export const keptFromFile = (logFile: string): string => `${logFile}.kept-from`

type Position = { offset: number; isSkipping: boolean }

function parsePosition(text: string): Position | null {
  const match = /^(\d+)(s?)$/.exec(text)
  return match ? { offset: Number(match[1]), isSkipping: match[2] === 's' } : null
}

/** The first byte that was not given back. */
export function readKeptFrom(logFile: string): number {
  try {
    return Number(readFileSync(keptFromFile(logFile), 'utf8'))
  } catch {
    return 0
  }
}
