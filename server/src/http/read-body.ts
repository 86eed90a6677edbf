import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import type { App } from '../app.ts'
import { addressBlock } from '../address-block.ts'
import { MemoryBudget } from '../collections/memory-budget.ts'
import { withRequestTimeouts } from '../db/query-timeouts.ts'
import { Refusal } from '../errors.ts'
import { authenticate } from '../modules/auth/index.ts'
import { BodyParts } from '../ports/body-parts.ts'
import { tooManyConcurrent } from './too-many-concurrent.ts'

/** Maximum size of the body of a caller who is signed in. */
const maxBytes = 1_048_576
/** Maximum size of other bodies. They need no credential and no reservation of memory. */
const maxSmallBytes = 65_536
/** Maximum size of an event of Stripe, which signs events instead of sending a credential. */
const maxEventBytes = 262_144

/** Reads the text of the bodies of one kind of requests. */
export type ReadBody = (request: FastifyRequest, payload: IncomingMessage) => Promise<string>

/**
 * Returns functions that replace fastify's own, which keeps each received part of a body in its own buffer, before it knows the caller.
 * `ofCalls` reads a large body only if the caller is signed in, and `ofEvents` one of Stripe's size from anyone. Large bodies share a
 * limited memory, of which each user or address gets a fair part. The functions throw Refusal 405 for a body that is too large, and 429
 * for a caller with too many large ones.
 */
export function bodyReaders(app: App): { ofCalls: ReadBody; ofEvents: ReadBody } {
  const memory = new MemoryBudget()
  const readLarge = async (request: FastifyRequest, payload: IncomingMessage, owner: string, max: number) => {
    const length = lengthOf(request)
    if (length !== null && length > max) throw tooLarge()
    const release = memory.reserve(owner, length ?? max, () => request.raw.destroy())
    if (!release) throw tooManyConcurrent()
    request.raw.once('close', release)
    return await readText(payload, max)
  }
  return {
    ofCalls: async (request, payload) => {
      const length = lengthOf(request)
      if (length !== null && length <= maxSmallBytes) return await readText(payload, maxSmallBytes)
      const actor = await withRequestTimeouts(() => authenticate(app, request.headers.authorization))
      if (actor) return await readLarge(request, payload, `user:${actor.userId}`, maxBytes)
      if (length !== null) throw tooLarge()
      return await readText(payload, maxSmallBytes)
    },
    ofEvents: (request, payload) => readLarge(request, payload, `address:${addressBlock(request.ip)}`, maxEventBytes),
  }
}

/** Makes the server read bodies of the content type with `read`, and convert their text with `parse`. */
export function acceptBody(
  server: FastifyInstance,
  contentType: string,
  read: ReadBody,
  parse: (text: string, request: FastifyRequest) => unknown,
): void {
  server.addContentTypeParser(contentType, async (request: FastifyRequest, payload: IncomingMessage) =>
    parse(await read(request, payload), request),
  )
}

/** Returns the length that the headers promise; null if the body has no fixed length. */
const lengthOf = ({ headers }: FastifyRequest): number | null =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null

/** Reads a body as text. @throws Refusal 405 if it is larger than `max`, 400 if it does not arrive completely */
function readText(payload: IncomingMessage, max: number): Promise<string> {
  const parts = new BodyParts()
  return new Promise((resolve, reject) => {
    const incomplete = () => new Refusal(400, 'INVALID', 'The body of the request is incomplete.')
    // The caller may have disconnected before; then no event follows.
    if (payload.destroyed) return reject(incomplete())
    payload.on('data', (part: Buffer) => {
      parts.add(part)
      if (parts.length <= max) return
      payload.removeAllListeners('data').pause()
      reject(tooLarge())
    })
    payload.once('end', () => resolve(parts.text()))
    payload.once('error', () => reject(incomplete()))
    payload.once('close', () => payload.readableEnded || reject(incomplete()))
  })
}

const tooLarge = () => new Refusal(405, 'TOO_LARGE', 'The request is too large.')
