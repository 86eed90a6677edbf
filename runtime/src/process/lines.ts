/** Maximum length of a line. Longer ones are truncated. */
const MAX_LINE_BYTES = 64 * 1024

const TRUNCATION_NOTICE = ' … (cut: the line is longer than 64 KiB)'
const NOTICE_BYTES = Buffer.byteLength(TRUNCATION_NOTICE)
export const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d

/** Truncates a line that is too long. */
export function truncateLine(line: string): string {
  if (line.length * 3 <= MAX_LINE_BYTES) return line
  const bytes = Buffer.from(line)
  // `LineSplitter` has already truncated the line, before the caller removed the time at its beginning.
  if (line.endsWith(TRUNCATION_NOTICE) && bytes.length <= MAX_LINE_BYTES + NOTICE_BYTES) return line
  return bytes.length <= MAX_LINE_BYTES ? line : bytes.toString('utf8', 0, MAX_LINE_BYTES) + TRUNCATION_NOTICE
}

/** Returns whether a line, or a part of a truncated line, with this many bytes may be delivered. */
export type AdmitsBytes = (bytes: number) => boolean

/** The lines of one chunk. After the first line that is not admitted, the rest of the chunk is dropped. */
export type AdmittedLines = { lines: string[]; droppedLines: number; isRefused: boolean }

/** Splits a byte stream into lines. Works on bytes, so that characters split between two chunks stay intact. */
export class LineSplitter {
  #pending: Buffer[] = []
  #pendingSize = 0
  /** True while the rest of a truncated or dropped line is discarded. */
  #isSkipping: boolean

  constructor(isSkipping = false) {
    this.#isSkipping = isSkipping
  }

  /** Number of buffered bytes of an incomplete line. */
  get pendingBytes(): number {
    return this.#pendingSize
  }

  get isSkipping(): boolean {
    return this.#isSkipping
  }

  /** Returns the lines that end in `chunk`, without their line breaks. */
  push(chunk: Buffer): string[] {
    return this.pushAdmitted(chunk, () => true).lines
  }

  /** Like `push`, but decodes only lines that `admits` accepts. */
  pushAdmitted(chunk: Buffer, admits: AdmitsBytes): AdmittedLines {
    const lines: string[] = []
    let start = 0
    const refuse = (): AdmittedLines => ({
      lines,
      droppedLines: this.drop(chunk.subarray(start)),
      isRefused: true,
    })
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      if (!admits(this.#pendingSize + end - start)) return refuse()
      if (this.#isSkipping) this.#isSkipping = false
      else lines.push(this.#completeLine(chunk.subarray(start, end)))
      start = end + 1
    }
    const incompleteBytes = chunk.length - start
    if (incompleteBytes > 0) {
      const bytes = this.#pendingSize + incompleteBytes
      // Discarded bytes count too: otherwise an endless line would be read without a limit.
      if ((this.#isSkipping || bytes > MAX_LINE_BYTES) && !admits(bytes)) return refuse()
      if (!this.#isSkipping) this.#buffer(chunk.subarray(start))
    }
    if (this.#pendingSize > MAX_LINE_BYTES) {
      lines.push(this.#completeLine(Buffer.alloc(0)))
      this.#isSkipping = true
    }
    return { lines, droppedLines: 0, isRefused: false }
  }

  /** Drops a chunk and the incomplete line before it. Returns the number of dropped lines that were not counted or delivered before. */
  drop(chunk: Buffer): number {
    if (chunk.length === 0) return 0
    let lines = this.#isSkipping ? -1 : 0
    for (const byte of chunk) if (byte === NEWLINE) lines++
    this.#pending = []
    this.#pendingSize = 0
    this.#isSkipping = chunk.at(-1) !== NEWLINE
    return this.#isSkipping ? lines + 1 : lines
  }

  /** Returns the last line if it has no line break. */
  flush(): string[] {
    return this.#pendingSize > 0 ? [this.#completeLine(Buffer.alloc(0))] : []
  }

  #buffer(chunk: Buffer): void {
    // Copies the chunk, since it is a view of the reader's buffer, which is reused.
    this.#pending.push(Buffer.from(chunk))
    this.#pendingSize += chunk.length
  }

  #completeLine(end: Buffer): string {
    const line = this.#pendingSize > 0 ? Buffer.concat([...this.#pending, end]) : end
    this.#pending = []
    this.#pendingSize = 0
    if (line.length > MAX_LINE_BYTES) return line.toString('utf8', 0, MAX_LINE_BYTES) + TRUNCATION_NOTICE
    return line.toString('utf8', 0, line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length)
  }
}
