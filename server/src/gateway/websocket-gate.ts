import { Transform, type TransformCallback } from 'node:stream'

/** A close frame with 1012 "Service Restart", on which clients reconnect. */
const serviceRestart = Buffer.from([0x88, 0x02, 0x03, 0xf4])

/**
 * Forwards the WebSocket frames of a squid and can end the stream between two frames (RFC 6455, 5.2), since a truncated frame would
 * be an error for the client.
 */
export class WebSocketGate extends Transform {
  #header: number[] = []
  #payloadLeft = 0
  #isEnding = false
  /** After the end, further frames of the squid are dropped until its connection is closed. */
  #hasEnded = false

  /** Sends a close frame to the client after the current frame, and nothing after it. */
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

  /** Offset in `chunk` where the current frame ends; null when it continues in the next chunk. */
  #endOfFrame(chunk: Buffer): number | null {
    for (let at = 0; at < chunk.length;) {
      at = this.#step(chunk, at)
      if (this.#isBetween) return at
    }
    return null
  }

  /** Reads one byte of a header, or the available part of the payload; returns the next offset. */
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

/** Payload length from a frame header; null while the header is incomplete. */
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
