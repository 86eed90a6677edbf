/** The status of an HTTP response, and its whole body. */
export type ContainerResponse = { status: number; text: string }

/** Maximum size of a response: no metrics page is nearly as large. */
const maxBytes = 4_000_000
const maxHeadBytes = 64_000
/** Maximum number of chunks and informational responses, since each takes CPU time. */
const maxParts = 10_000
/** Maximum length of the line with the size of a chunk. */
const maxSizeBytes = 256

const statusLine = /^HTTP\/1\.[01] (\d{3})(?: |\r|$)/
/** The size of a chunk, in hexadecimal, which extensions may follow. */
const chunkSize = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?$/i

/** How the end of a body is found: by its length, as chunks, or by the end of the connection. */
type Framing = { kind: 'length'; bytes: number } | { kind: 'chunked' } | { kind: 'until end' }

/** Reads one HTTP/1 response from the data of a connection. */
export class ResponseReader {
  /** Data that was not interpreted yet. */
  #pending: Buffer = Buffer.alloc(0)
  #head: { status: number; framing: Framing } | null = null
  readonly #body: Buffer[] = []
  #bodyBytes = 0
  #parts = 0
  /** Bytes of the current chunk that have not arrived, with the line end after it; null before the size of the next chunk is known. */
  #chunkBytes: number | null = null

  /** Adds data. Returns the response as soon as it is complete. @throws Error if the data is not an HTTP response or too long */
  push(data: Buffer): ContainerResponse | null {
    this.#pending = this.#pending.length === 0 ? data : Buffer.concat([this.#pending, data])
    while (!this.#head) if (!this.#readHead()) return null
    const { framing } = this.#head
    if (framing.kind === 'chunked') return this.#readChunks() ? this.#response() : null
    this.#take(framing.kind === 'length' ? framing.bytes - this.#bodyBytes : this.#pending.length)
    return framing.kind === 'length' && this.#bodyBytes === framing.bytes ? this.#response() : null
  }

  /** Returns the response if the end of the connection completes it. */
  end(): ContainerResponse | null {
    return this.#head?.framing.kind === 'until end' ? this.#response() : null
  }

  #response(): ContainerResponse {
    return { status: this.#head?.status ?? 0, text: Buffer.concat(this.#body).toString() }
  }

  /** Reads the status and the headers if they have arrived. Skips informational responses. */
  #readHead(): boolean {
    const length = this.#pending.indexOf('\r\n\r\n')
    if (length < 0 && this.#pending.length > maxHeadBytes) throw new Error('The headers of the response are too long')
    if (length < 0) return false
    const [first = '', ...headers] = this.#pending.toString('latin1', 0, length).split('\r\n')
    const status = Number(statusLine.exec(first)?.[1] ?? 0)
    if (status === 0) throw new Error('The response is not HTTP')
    this.#pending = this.#pending.subarray(length + 4)
    this.#countPart()
    if (status >= 200) this.#head = { status, framing: framingOf(status, headers) }
    return true
  }

  /** Returns true when the last chunk has arrived. */
  #readChunks(): boolean {
    for (;;) {
      if (this.#chunkBytes === null) {
        const length = this.#pending.indexOf('\r\n')
        if (length < 0 && this.#pending.length <= maxSizeBytes) return false
        if (length < 0 || length > maxSizeBytes) throw new Error('A chunk of the response has no size')
        this.#countPart()
        const size = chunkSize.exec(this.#pending.toString('latin1', 0, length))?.[1]
        if (size === undefined) throw new Error('A chunk of the response has no size')
        this.#pending = this.#pending.subarray(length + 2)
        if (Number.parseInt(size, 16) === 0) return true
        this.#chunkBytes = Number.parseInt(size, 16) + 2
      }
      const bodyBytes = Math.min(this.#pending.length, Math.max(0, this.#chunkBytes - 2))
      this.#take(bodyBytes)
      this.#chunkBytes -= bodyBytes
      if (this.#chunkBytes > 2 || this.#pending.length < this.#chunkBytes) return false
      this.#pending = this.#pending.subarray(this.#chunkBytes)
      this.#chunkBytes = null
    }
  }

  #countPart(): void {
    if (++this.#parts > maxParts) throw new Error('The response has too many parts')
  }

  /** Moves data to the body. */
  #take(bytes: number): void {
    const data = this.#pending.subarray(0, bytes)
    this.#pending = this.#pending.subarray(data.length)
    this.#body.push(data)
    this.#bodyBytes += data.length
    if (this.#bodyBytes > maxBytes) throw new Error('The response is too long')
  }
}

function framingOf(status: number, lines: string[]): Framing {
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  if (status === 204 || status === 304) return { kind: 'length', bytes: 0 }
  if (/\bchunked$/i.test(headers.get('transfer-encoding') ?? '')) return { kind: 'chunked' }
  const length = headers.get('content-length')
  if (length === undefined) return { kind: 'until end' }
  if (!/^\d{1,15}$/.test(length)) throw new Error('The length of the response is not a number')
  return { kind: 'length', bytes: Number(length) }
}
