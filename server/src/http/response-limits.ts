import type { FastifyReply } from 'fastify'
import { Readable } from 'node:stream'
import { MemoryBudget } from '../collections/memory-budget.ts'
import { maxStallMs, untilDrained } from '../ports/write-response.ts'
import { tooManyConcurrent, tooManyStreams } from './too-many-concurrent.ts'

/** Responses up to this size need no reservation of memory. */
const maxSmallBytes = 65_536
/**
 * Typical memory of a stream: a batch of log lines, or a page of a download. Most followers of logs have less, and the largest batches, of
 * 1 MB, are rare.
 */
export const streamBytes = { lines: 256_000, file: 4_000_000 }

/** Maximum number of streams of lines that a process sends to a user, and to the members of an organization. */
const maxLineStreams = { user: 40, org: 200 }

/** Headers about the content, which an error does not have. */
const contentHeaders = ['content-type', 'content-length', 'content-encoding', 'content-disposition', 'etag']

export type ResponseLimitOptions = {
  /** Memory for the large responses of all callers. */
  capacityBytes?: number
  /** How long a caller may accept no data before its response is destroyed. */
  stallMs?: number
  lineStreams?: typeof maxLineStreams
}

/**
 * Limits the memory for responses that their callers have not read. Large responses and streams share it: each owner (an organization, user
 * or address) gets a fair part, and the newest response of the owner with the most is ended for another owner.
 */
export class ResponseLimits {
  readonly #memory: MemoryBudget
  readonly #stallMs: number
  readonly #maxLineStreams: typeof maxLineStreams
  /** The number of streams of lines, by user and by organization. */
  readonly #lineStreams = new Map<string, number>()

  constructor({
    capacityBytes = 256 * 1024 * 1024,
    stallMs = maxStallMs,
    lineStreams = maxLineStreams,
  }: ResponseLimitOptions = {}) {
    this.#maxLineStreams = lineStreams
    this.#memory = new MemoryBudget(capacityBytes)
    this.#stallMs = stallMs
  }

  /**
   * Counts a stream of lines of a user and of `owner` until the response ends.
   * @throws Refusal 429 if the user or the owner has the maximum
   */
  countLineStream({ raw }: FastifyReply, userId: number, owner: string): void {
    const { user, org } = this.#maxLineStreams
    const limits = [{ key: `user:${userId}`, max: user }]
    if (owner.startsWith('org:')) limits.push({ key: owner, max: org })
    const countOf = (key: string) => this.#lineStreams.get(key) ?? 0
    const full = limits.find(({ key, max }) => countOf(key) >= max)
    if (full) throw tooManyStreams(full.max)
    for (const { key } of limits) this.#lineStreams.set(key, countOf(key) + 1)
    whenClosed(raw, () => {
      for (const { key } of limits)
        if (countOf(key) > 1) this.#lineStreams.set(key, countOf(key) - 1)
        else this.#lineStreams.delete(key)
    })
  }

  /** Sends a body. @throws Refusal 429 if the owner has too many large responses that its callers have not read */
  sendBody(reply: FastifyReply, owner: string, body: string | Uint8Array): FastifyReply {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    if (bytes.length <= maxSmallBytes) return reply.send(body)
    reply.header('content-length', bytes.length)
    return this.sendStream(reply, owner, Readable.from(slicesOf(bytes), { objectMode: false }), bytes.length)
  }

  /** Sends a stream that keeps about `bytes` in memory. @throws Refusal 429, after destroying the stream, as `sendBody` does */
  sendStream(reply: FastifyReply, owner: string, stream: Readable, bytes: number): FastifyReply {
    const { raw } = reply
    const release = this.#memory.reserve(owner, bytes, () => raw.destroy())
    if (!release) {
      stream.destroy()
      for (const name of contentHeaders) reply.removeHeader(name)
      throw tooManyConcurrent()
    }
    whenClosed(raw, release)
    stream.on('pause', () => void untilDrained(raw, this.#stallMs))
    return reply.send(stream)
  }
}

/** Calls `work` when the response has ended, immediately if its caller has already disconnected. */
function whenClosed(raw: FastifyReply['raw'], work: () => void): void {
  if (raw.closed || raw.destroyed) work()
  else raw.once('close', work)
}

/** A caller that reads slowly must accept only one slice in `stallMs`, not the whole body. */
function* slicesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += maxSmallBytes) yield bytes.subarray(at, at + maxSmallBytes)
}
