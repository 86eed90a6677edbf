import { Transform, type TransformCallback } from 'node:stream'

/** A close frame with 1012 "Service Restart", on which clients reconnect. */
const serviceRestart = Buffer.from([0x88, 0x02, 0x03, 0xf4])

/**
 * Forwards the WebSocket frames of a squid and can end the stream between two frames (RFC 6455, 5.2), since a truncated frame would
 * be an error for the client.
 */
export class WebSocketGate extends Transform {
  /** Bytes of the current frame's header: received, up to the end of the length, and in total. */
  #headerReceived = 0
  #lengthEnd = 2
  #headerSize = 2
  #payloadLength = 0
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
    return this.#headerReceived === 0 && this.#payloadRemaining === 0
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
    this.#readHeader(chunk[offset] ?? 0)
    return offset + 1
  }

  /** Allocates nothing, because a squid may send only headers (RFC 6455, 5.2). */
  #readHeader(byte: number): void {
    const index = this.#headerReceived++
    if (index === 0) return
    if (index === 1) {
      const shortLength = byte & 0x7f
      this.#lengthEnd = 2 + (shortLength === 126 ? 2 : shortLength === 127 ? 8 : 0)
      this.#headerSize = this.#lengthEnd + (byte & 0x80 ? 4 : 0)
      this.#payloadLength = this.#lengthEnd === 2 ? shortLength : 0
    } else if (index < this.#lengthEnd) {
      this.#payloadLength = this.#payloadLength * 256 + byte
    }
    if (this.#headerReceived < this.#headerSize) return
    this.#headerReceived = 0
    this.#payloadRemaining = this.#payloadLength
  }
}
