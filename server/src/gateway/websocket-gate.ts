import { Transform, type TransformCallback } from 'node:stream'

/** A close frame with 1012 "Service Restart", on which clients reconnect. */
const serviceRestart = Buffer.from([0x88, 0x02, 0x03, 0xf4])

/**
 * Forwards the WebSocket frames of a squid and can end the stream between two frames (RFC 6455, 5.2), since a truncated frame would
 * be an error for the client.
 */
export class WebSocketGate extends Transform {
  #header: number[] = []
  #payloadRemaining = 0
  #isEnding = false
  /** After the end, further frames of the squid are dropped until its connection is closed. */
  #hasEnded = false

  /** Sends a close frame to the client after the current frame, and nothing after it. */
  endBetweenFrames(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    if (this.#isBetweenFrames) this.#end()
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    if (this.#hasEnded) return done()
    const end = this.#isEnding ? this.#endOfFrame(chunk) : (this.#trackFrames(chunk), null)
    this.push(end === null ? chunk : chunk.subarray(0, end))
    if (end !== null) this.#end()
    done()
  }

  get #isBetweenFrames(): boolean {
    return this.#header.length === 0 && this.#payloadRemaining === 0
  }

  #end(): void {
    this.push(serviceRestart)
    this.push(null)
    this.#hasEnded = true
  }

  #trackFrames(chunk: Buffer): void {
    for (let offset = 0; offset < chunk.length;) offset = this.#step(chunk, offset)
  }

  /** Returns the offset in `chunk` where the current frame ends; null when it continues in the next chunk. */
  #endOfFrame(chunk: Buffer): number | null {
    for (let offset = 0; offset < chunk.length;) {
      offset = this.#step(chunk, offset)
      if (this.#isBetweenFrames) return offset
    }
    return null
  }

  /** Reads one byte of a header, or the available part of the payload; returns the next offset. */
  #step(chunk: Buffer, offset: number): number {
    if (this.#payloadRemaining > 0) {
      const consumed = Math.min(this.#payloadRemaining, chunk.length - offset)
      this.#payloadRemaining -= consumed
      return offset + consumed
    }
    this.#header.push(chunk[offset] ?? 0)
    const length = payloadLength(this.#header)
    if (length !== null) {
      this.#header = []
      this.#payloadRemaining = length
    }
    return offset + 1
  }
}

/** Returns the payload length from a frame header; null while the header is incomplete. */
function payloadLength(header: number[]): number | null {
  const secondByte = header[1]
  if (secondByte === undefined) return null
  const shortLength = secondByte & 0x7f
  const lengthBytes = shortLength === 126 ? 2 : shortLength === 127 ? 8 : 0
  const maskBytes = secondByte & 0x80 ? 4 : 0
  if (header.length < 2 + lengthBytes + maskBytes) return null
  if (lengthBytes === 0) return shortLength
  return header.slice(2, 2 + lengthBytes).reduce((sum, byte) => sum * 256 + byte, 0)
}
