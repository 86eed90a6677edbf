import type { Endpoint } from '@shoal/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createHash } from 'node:crypto'

/**
 * Sends the response of a JSON endpoint. A `GET` has an `ETag`; a caller that sends it back in `If-None-Match` gets 304 without a body
 * while the response would be the same, as in most polls.
 */
export function sendJson(endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply, result: unknown) {
  const body = JSON.stringify({ payload: endpoint.payload.parse(result) })
  reply.code(endpoint.status).type('application/json; charset=utf-8')
  if (endpoint.method !== 'GET') return reply.send(body)
  const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  reply.header('etag', tag)
  return hasTag(request.headers['if-none-match'], tag) ? reply.code(304).send() : reply.send(body)
}

/** Proxies that compress mark tags as weak, with `W/`. */
const hasTag = (header: string | undefined, tag: string): boolean =>
  header?.split(',').some((known) => known.trim().replace(/^W\//, '') === tag) ?? false
