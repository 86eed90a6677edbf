import { Transform, type TransformCallback } from 'node:stream'

/** Close, with 1012 "Service Restart": clients connect again. */
const serviceRestart = Buffer.from([0x88, 0x02, 0x03, 0xf4])

/**
 * Passes on what a squid sends over a WebSocket, and can end that between two of its frames (RFC 6455, 5.2): a frame that breaks off
 * would be an error for the client.
 */
export class WebSocketGate extends Transform {
  #header: number[] = []
  #payloadLeft = 0
  #isEnding = false
  /** What the squid still sends is read and dropped until its connection is closed. */
  #hasEnded = false

  /** Sends a close frame to the client as soon as the frame that is under way is complete, and nothing after it. */
  endBetweenFrames(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    if (this.#isBetween) this.#end()
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    if (this.#hasEnded) return done()
    const end = this.#isEnding ? this.#endOfFrame(chunk) : (this.#follow(chunk), null)
    this.push(end === null ? chunk : chunk.subarray(0, end))
    if (end !== null) this.#end()
    done()
  }

  get #isBetween(): boolean {
    return this.#header.length === 0 && this.#payloadLeft === 0
  }

  #end(): void {
    this.push(serviceRestart)
    this.push(null)
    this.#hasEnded = true
  }

  #follow(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) at = this.#step(chunk, at)
  }

  /** Where in `chunk` the frame ends that has begun; null when it goes on in the next one. */
  #endOfFrame(chunk: Buffer): number | null {
    for (let at = 0; at < chunk.length;) {
      at = this.#step(chunk, at)
      if (this.#isBetween) return at
    }
    return null
  }

  /** Reads one byte of a header, or as much of the payload as there is; answers where to go on. */
  #step(chunk: Buffer, at: number): number {
    if (this.#payloadLeft > 0) {
      const taken = Math.min(this.#payloadLeft, chunk.length - at)
      this.#payloadLeft -= taken
      return at + taken
    }
    this.#header.push(chunk[at] ?? 0)
    const length = payloadLength(this.#header)
    if (length !== null) {
      this.#header = []
      this.#payloadLeft = length
    }
    return at + 1
  }
}

/** Of a frame with this header; null while the header is not complete. */
function payloadLength(header: number[]): number | null {
  const second = header[1]
  if (second === undefined) return null
  const short = second & 0x7f
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0
  const maskBytes = second & 0x80 ? 4 : 0
  if (header.length < 2 + lengthBytes + maskBytes) return null
  if (lengthBytes === 0) return short
  return header.slice(2, 2 + lengthBytes).reduce((sum, byte) => sum * 256 + byte, 0)
}
