/** Longer lines are truncated. */
const MAX_LINE_BYTES = 64 * 1024

const CUT = ' … (cut: the line is longer than 64 KiB)'
export const NEWLINE = 0x0a
const RETURN = 0x0d

/** Truncates a line that is too long. */
export function cutLine(line: string): string {
  if (line.length * 3 <= MAX_LINE_BYTES) return line
  const bytes = Buffer.from(line)
  return bytes.length <= MAX_LINE_BYTES ? line : bytes.toString('utf8', 0, MAX_LINE_BYTES) + CUT
}

/** Splits a byte stream into lines. Works on bytes, so that characters split between two pieces stay intact. */
export class LineSplitter {
  #rest: Buffer[] = []
  #restBytes = 0
  /** True while the rest of a truncated line is discarded. */
  #isSkipping: boolean

  constructor(isSkipping = false) {
    this.#isSkipping = isSkipping
  }

  /** Bytes of an incomplete line that are buffered. */
  get pendingBytes(): number {
    return this.#restBytes
  }

  get isSkipping(): boolean {
    return this.#isSkipping
  }

  /** The lines that ended in `piece`, without their line ends. */
  push(piece: Buffer): string[] {
    const lines: string[] = []
    let start = 0
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      if (this.#isSkipping) this.#isSkipping = false
      else lines.push(this.#take(piece.subarray(start, end)))
      start = end + 1
    }
    if (start < piece.length && !this.#isSkipping) this.#keep(piece.subarray(start))
    if (this.#restBytes > MAX_LINE_BYTES) {
      lines.push(this.#take(Buffer.alloc(0)))
      this.#isSkipping = true
    }
    return lines
  }

  /** The last line, when it had no line end. */
  flush(): string[] {
    return this.#restBytes > 0 ? [this.#take(Buffer.alloc(0))] : []
  }

  #keep(piece: Buffer): void {
    // Copies the piece, since it is a view of the reader's buffer, which is reused.
    this.#rest.push(Buffer.from(piece))
    this.#restBytes += piece.length
  }

  #take(end: Buffer): string {
    const line = this.#restBytes > 0 ? Buffer.concat([...this.#rest, end]) : end
    this.#rest = []
    this.#restBytes = 0
    if (line.length > MAX_LINE_BYTES) return line.toString('utf8', 0, MAX_LINE_BYTES) + CUT
    return line.toString('utf8', 0, line.at(-1) === RETURN ? line.length - 1 : line.length)
  }
}
